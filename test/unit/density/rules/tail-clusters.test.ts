import { describe, expect, it } from 'vitest';
import { buildBaseline, isInTail } from '../../../../src/density/rules/baseline.ts';
import { measureWindow } from '../../../../src/density/rules/measure-window.ts';
import {
  clusterCount,
  clusterExcess,
  mergeSimilar,
  type TailQuery,
  type TailSide,
  tailClusters,
} from '../../../../src/density/rules/tail-clusters.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';
import { sphericalKMeans } from '../../../../src/math/vector/spherical-k-means.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FROM = new Date('2026-03-02T00:00:00Z');
const LATER = new Date('2026-04-01T00:00:00Z');
const COVERED = [0, 1, 2, 3, 4, 5, 6, 7];
const MISSING = 8;

const world = queryWorld(21, 9, 8);
const asked = world.ask(evenQuestions(4000, COVERED, FROM, 14 * DAY));
const built = buildBaseline(asked.queries, asked.vectors, {
  period: { from: FROM, until: new Date(FROM.getTime() + 14 * DAY) },
  windowMs: HOUR,
  seed: 1,
});
if ('kind' in built) throw new Error('The baseline was not built.');
const baseline = built;
const baselineSide = { vectors: asked.vectors, tail: baseline.tail, sessions: baseline.global.sessions };

/**
 * The poorly covered queries of an hour with 1,000 queries; `share` is the share of queries about the missing topic.
 */
function hourWith(share: number) {
  const every = share === 0 ? Number.POSITIVE_INFINITY : Math.round(1 / share);
  const questions = evenQuestions(1000, COVERED, LATER, HOUR).map((question, i) =>
    (i + 1) % every === 0 ? { ...question, topic: MISSING } : question,
  );
  const live = world.ask(questions);
  const { queries, density } = measureWindow(live.queries, live.vectors, baseline);
  const topicOf = new Map(live.queries.map(({ id }, i) => [id, questions[i]?.topic]));
  const tail: TailQuery[] = queries.flatMap((query) =>
    isInTail(query.ranks) && query.row !== null
      ? [{ ...query, row: query.row, session: String(query.sessionNumber) }]
      : [],
  );
  const side: TailSide<TailQuery> = { vectors: live.vectors, tail, sessions: density?.sessions ?? 0 };
  return { side, topicOf, density };
}

describe('uncovered topics', () => {
  it('are found: the missing topic forms one nearly pure cluster with its share of traffic and its examples', () => {
    const { side, topicOf } = hourWith(0.1);
    const found = tailClusters(side, baselineSide, 1);
    if (found.kind !== 'clusters') throw new Error('There were too few queries.');
    const [topic, ...others] = found.uncovered;
    expect(others).toEqual([]);
    const hits = topic?.members.filter((id) => topicOf.get(id) === MISSING).length ?? 0;
    expect(hits / (topic?.members.length ?? 1)).toBeGreaterThan(0.95);
    expect(hits).toBeGreaterThan(90);
    expect(topic?.excessPoints).toBeGreaterThan(8);
    expect(topic?.excessPoints).toBeLessThan(12);
    expect(topic?.density).toBeLessThan(0.1);
    expect(topic?.adjustedP).toBeLessThan(1e-6);
    expect(topic?.examples).toHaveLength(7);
    expect(new Set(topic?.examples).size).toBe(7);
    expect(topic?.examples.every((id) => topicOf.get(id) === MISSING)).toBe(true);
    expect(topic?.examples.slice(0, 5)).toEqual(topic?.members.slice(0, 5));
  });

  it('are not found if none is missing', () => {
    expect(tailClusters(hourWith(0).side, baselineSide, 1)).toMatchObject({
      kind: 'clusters',
      uncovered: [],
    });
  });

  it('do not depend on the order of the queries', () => {
    const { side } = hourWith(0.1);
    const turned = { ...side, tail: side.tail.toReversed() };
    const turnedBaseline = { ...baselineSide, tail: baseline.tail.toReversed() };
    expect(tailClusters(turned, turnedBaseline, 1)).toEqual(tailClusters(side, baselineSide, 1));
  });

  it('count one client once: a bot that repeats an uncovered query has one vote', () => {
    const { side } = hourWith(0);
    const bot = world.ask([{ topic: MISSING, session: 'bot', occurredAt: LATER }]);
    const row = side.vectors.rows;
    const vectors = {
      ...side.vectors,
      rows: row + 1,
      data: Float32Array.from([...side.vectors.data, ...bot.vectors.data]),
    };
    const repeats = Array.from({ length: 500 }, (_, i) => ({
      id: `bot ${i}`,
      row,
      session: 'bot',
      surprise: 4.6,
      region: 0,
    }));
    const found = tailClusters({ ...side, vectors, tail: [...side.tail, ...repeats] }, baselineSide, 1);
    expect(found).toMatchObject({ kind: 'clusters', uncovered: [] });
  });

  it('need at least 30 queries on each side', () => {
    const { side } = hourWith(0.1);
    expect(tailClusters({ ...side, tail: side.tail.slice(0, 29) }, baselineSide, 1)).toEqual({
      kind: 'insufficient_data',
      of: 'window_tail',
      have: 29,
      need: 30,
    });
    expect(tailClusters(side, { ...baselineSide, tail: baselineSide.tail.slice(0, 3) }, 1)).toMatchObject({
      of: 'baseline_tail',
      have: 3,
    });
  });

  it('keep their share of traffic if more than 2,000 sessions are reduced to 2,000', () => {
    const { side } = hourWith(0.1);
    const many = Array.from({ length: 30 }, (_, copy) =>
      side.tail.map((query) => ({
        ...query,
        id: `${query.id} ${copy}`,
        session: `${query.session} ${copy}`,
      })),
    ).flat();
    expect(many.length).toBeGreaterThan(4000);
    const found = tailClusters({ ...side, tail: many, sessions: side.sessions * 30 }, baselineSide, 1);
    if (found.kind !== 'clusters') throw new Error('There were too few queries.');
    expect(found.uncovered[0]?.trafficShare).toBeCloseTo(0.1, 1);
    expect(found.uncovered[0]?.current).toBeLessThan(2000);
  });

  it('are searched in 4 to 16 clusters', () => {
    expect([0, 100, 112, 113, 400, 4000].map(clusterCount)).toEqual([4, 4, 4, 5, 16, 16]);
  });
});

describe('mergeSimilar', () => {
  const angle = (degrees: number): number[] => [
    Math.cos((degrees * Math.PI) / 180),
    Math.sin((degrees * Math.PI) / 180),
  ];
  // The centroids are at 0, 8, 16 and 90 degrees, and each row is 10 degrees from its centroid.
  const centres = [0, 8, 16, 90];
  const rows = matrixOf(centres.flatMap((centre) => [angle(centre - 10), angle(centre + 10)]));
  const clustering = {
    ...sphericalKMeans(rows, centres.flatMap(angle), 0),
    labels: Int32Array.of(0, 0, 1, 1, 2, 2, 3, 3),
    closeness: new Float64Array(8).fill(Math.cos(Math.PI / 18)),
  };

  it('merges clusters that are as similar as their members, even if linked only through a third cluster', () => {
    const merged = mergeSimilar(rows, clustering, [0, 1, 2, 3]);
    expect(merged.map(({ labels }) => labels)).toEqual([[0, 1, 2], [3]]);
    expect(merged[0]?.rows).toEqual([0, 1, 2, 3, 4, 5]);
    for (const [c, value] of angle(8).entries()) expect(merged[0]?.centroid[c]).toBeCloseTo(value, 6);
  });

  it('ignores clusters that were not chosen, and the links through them', () => {
    expect(mergeSimilar(rows, clustering, [0, 2, 3]).map(({ labels }) => labels)).toEqual([[0], [2], [3]]);
    expect(mergeSimilar(rows, clustering, [])).toEqual([]);
  });
});

/** Reference values from numpy, scipy and scikit-learn; each file names its formula and its tool. */
describe('tail clusters', () => {
  interface Input {
    readonly tail_current: readonly number[];
    readonly tail_baseline: readonly number[];
    readonly window_sessions: number;
    readonly baseline_sessions: number;
  }
  interface Expected {
    readonly p: readonly number[];
    readonly holm: readonly number[];
    readonly traffic_share: readonly number[];
    readonly baseline_share: readonly number[];
    readonly excess_points: readonly number[];
  }

  it.each(driftCases<Input, Expected>('tail_clusters'))('$name', ({ input, expected }) => {
    const counts = input.tail_current.map((current, i) => ({ current, baseline: input.tail_baseline[i] ?? 0 }));
    const draws = counts.reduce((sum, { current }) => sum + current, 0);
    const size = counts.reduce((sum, { baseline: before }) => sum + before, draws);
    const sessions = { current: input.window_sessions, baseline: input.baseline_sessions };
    const clusters = clusterExcess(counts, sessions, { size, draws });
    const columns = [
      ['p', expected.p],
      ['holm', expected.holm],
      ['trafficShare', expected.traffic_share],
      ['baselineShare', expected.baseline_share],
      ['excessPoints', expected.excess_points],
    ] as const;
    for (const [column, reference] of columns) {
      expect(
        differences(
          clusters.map((cluster) => cluster[column]),
          reference,
        ),
        column,
      ).toEqual([]);
    }
    // Tail probabilities far below the tolerance are also precise.
    for (const [i, { p }] of clusters.entries()) expect(p / (expected.p[i] ?? 0)).toBeCloseTo(1, 9);
  });
});
