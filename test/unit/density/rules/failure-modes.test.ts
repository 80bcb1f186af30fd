/** Tests which failures around a store must change query density, and which must not. */
import { describe, expect, it } from 'vitest';
import { buildBaseline } from '../../../../src/density/rules/baseline.ts';
import { measureWindow } from '../../../../src/density/rules/measure-window.ts';
import { coverageScores, nearestSimilarity, type ScoredQuery } from '../../../../src/density/rules/query-score.ts';
import {
  distinctRows,
  type Matrix,
  matrixOf,
  meanDirection,
  rowOf,
  selectRows,
} from '../../../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../../../src/math/vector/nearest-neighbours.ts';
import { type AskedQueries, evenQuestions, queryWorld } from '../../../support/query-world.ts';
import { uniforms } from '../../../support/uniforms.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FROM = new Date('2026-03-02T00:00:00Z');
const LATER = new Date('2026-04-01T00:00:00Z');
const COVERED = [0, 1, 2, 3, 4, 5, 6, 7];

const world = queryWorld(31, 9, 8);

function baselineOf({ queries, vectors }: AskedQueries) {
  const built = buildBaseline(queries, vectors, {
    period: { from: FROM, until: new Date(FROM.getTime() + 14 * DAY) },
    windowMs: HOUR,
    seed: 1,
  });
  if ('kind' in built) throw new Error('The baseline was not built.');
  return built;
}

const past = world.ask(evenQuestions(4000, COVERED, FROM, 14 * DAY));
const baseline = baselineOf(past);
const live = world.ask(evenQuestions(1000, COVERED, LATER, HOUR));

function densityOf({ queries, vectors }: AskedQueries, against = baseline): number {
  return measureWindow(queries, vectors, against).density?.density ?? Number.NaN;
}

/** Runs the same queries on another store; by default, the scores still subtract the mean of the previous store. */
function searchedIn(store: Matrix, { queries, vectors }: AskedQueries, mean = world.storeMean): AskedQueries {
  const scores = coverageScores(nearestNeighbours(store, vectors, 1), vectors, mean);
  return { vectors, queries: queries.map((query, i) => ({ ...query, score: scores[i] ?? null })) };
}

function joined(...parts: readonly Matrix[]): Matrix {
  return matrixOf(parts.flatMap((part) => Array.from({ length: part.rows }, (_, row) => rowOf(part, row))));
}

/** Multiplies every row by the same orthogonal matrix, a product of reflections. */
function rotated(matrix: Matrix): Matrix {
  const uniform = uniforms(7);
  const mirrors = Array.from({ length: 6 }, () => {
    const mirror = Array.from({ length: matrix.columns }, () => uniform() - 0.5);
    const length = Math.hypot(...mirror);
    return mirror.map((value) => value / length);
  });
  return matrixOf(
    Array.from({ length: matrix.rows }, (_, row) =>
      mirrors.reduce(
        (vector, mirror) => {
          const along = 2 * vector.reduce((sum, value, c) => sum + value * (mirror[c] ?? 0), 0);
          return vector.map((value, c) => value - along * (mirror[c] ?? 0));
        },
        Array.from(rowOf(matrix, row)),
      ),
    ),
  );
}

describe('the density of the same traffic', () => {
  it('is near 1', () => {
    expect(densityOf(live)).toBeGreaterThan(0.93);
    expect(densityOf(live)).toBeLessThan(1.07);
  });

  it('does not change if chunks are stored more than once', () => {
    const tripled = joined(world.store, world.store, world.store);
    const store = selectRows(tripled, distinctRows(tripled));
    expect(densityOf(searchedIn(store, live))).toBe(densityOf(live));
    const chunks = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4].map((similarity) => ({ similarity }));
    expect(nearestSimilarity([...chunks, ...chunks, ...chunks])).toBe(nearestSimilarity(chunks));
  });

  it('does not depend on the order of the queries or their position in memory, to the last digit', () => {
    const order = Array.from({ length: live.vectors.rows }, (_, i) => live.vectors.rows - 1 - i);
    const turned: ScoredQuery[] = live.queries.map((query) => ({
      ...query,
      row: live.vectors.rows - 1 - (query.row ?? 0),
    }));
    const shuffled = { queries: turned.toReversed(), vectors: selectRows(live.vectors, order) };
    const [a, b] = [live, shuffled].map(({ queries, vectors }) => measureWindow(queries, vectors, baseline));
    expect(b?.density).toEqual(a?.density);
    expect(b?.scores).toEqual(a?.scores);
  });

  it('does not change if the whole space is rotated, as far as float32 allows', () => {
    const turn = (asked: AskedQueries): AskedQueries =>
      searchedIn(
        rotated(world.store),
        { ...asked, vectors: rotated(asked.vectors) },
        meanDirection(rotated(world.store)),
      );
    const turnedBaseline = baselineOf(turn(past));
    expect(densityOf(turn(live), turnedBaseline)).toBeCloseTo(densityOf(live), 4);
    const scoresBefore = searchedIn(world.store, live).queries.map(({ score }) => score ?? 0);
    for (const [i, { score }] of turn(live).queries.entries()) expect(score).toBeCloseTo(scoresBefore[i] ?? 0, 5);
  });

  it('does not drop when users ask about a different mix of covered topics', () => {
    const mix = world.ask(evenQuestions(1000, [0, 0, 0, 0, 1, 1, 2], LATER, HOUR));
    expect(densityOf(mix)).toBeGreaterThan(0.9);
  });

  it('does not drop when the store grows', () => {
    const grown = joined(world.store, world.chunksOf([8]));
    expect(densityOf(searchedIn(grown, live))).toBeGreaterThanOrEqual(densityOf(live));
  });
});

describe('the density drops', () => {
  it.each([
    [0.05, 0.93],
    [0.1, 0.86],
    [0.2, 0.75],
  ])('if %d of the queries are on a topic that the store never had', (share, most) => {
    const questions = evenQuestions(1000, COVERED, LATER, HOUR).map((question, i) =>
      (i + 1) % Math.round(1 / share) === 0 ? { ...question, topic: 8 } : question,
    );
    const window = measureWindow(...argumentsOf(world.ask(questions)), baseline);
    expect(window.density?.density).toBeLessThan(most);
    expect(window.density?.uncovered.excess).toBeGreaterThan(0.5 * share);
    expect(window.density?.uncovered.excess).toBeLessThan(1.3 * share);
  });

  it('if the chunks of a topic are deleted although the queries are unchanged', () => {
    const rest = world.chunksOf([0, 1, 2, 3, 4, 5, 6]);
    expect(densityOf(searchedIn(rest, live))).toBeLessThan(0.85);
  });

  it('to almost nothing if the embedding model changes only for queries', () => {
    const other = { ...live, vectors: rotated(live.vectors) };
    expect(densityOf(searchedIn(world.store, other))).toBeLessThan(0.1);
  });

  it('to its minimum if the store is empty', () => {
    const empty = searchedIn(matrixOf([]), live);
    expect(densityOf(empty)).toBeCloseTo(Math.exp(0.99 - Math.log(100)), 2);
  });
});

function argumentsOf({ queries, vectors }: AskedQueries): [readonly ScoredQuery[], Matrix] {
  return [queries, vectors];
}

describe('a window', () => {
  it('with a bot counts the bot once, with or without a session', () => {
    for (const session of ['bot', null]) {
      const bot = world.ask([{ topic: 8, session, occurredAt: LATER }]);
      const vectors = joined(live.vectors, bot.vectors);
      const repeats = Array.from({ length: 300 }, (_, i) => ({
        id: `zbot ${i}`,
        session,
        score: bot.queries[0]?.score ?? null,
        row: live.vectors.rows,
        occurredAt: LATER,
      }));
      const window = measureWindow([...live.queries, ...repeats], vectors, baseline);
      const once = measureWindow([...live.queries, ...repeats.slice(0, 1)], vectors, baseline);
      expect(window.density?.sessions).toBe(1001);
      expect(window.density?.density).toBeCloseTo(once.density?.density ?? 0, 12);
    }
  });

  it('drops and counts zero vectors, NaN and queries without a score', () => {
    const vectors = joined(live.vectors, matrixOf([Array.from({ length: live.vectors.columns }, () => 0)]));
    vectors.data[0] = Number.NaN;
    const queries: ScoredQuery[] = live.queries.map((query, i) => (i === 1 ? { ...query, score: null } : query));
    const zero: ScoredQuery = { ...live.queries[2], id: 'zero', row: live.vectors.rows } as ScoredQuery;
    const window = measureWindow([...queries, zero], vectors, baseline);
    expect(window.dropped).toEqual({ notMeasurable: 1, notFiniteVector: 1, zeroVector: 1 });
    expect(window.density?.queries).toBe(live.queries.length - 2);
    expect(window.density?.density).toBeCloseTo(densityOf(live), 1);
  });

  it('with little traffic is still tested for drift', () => {
    const few = world.ask(evenQuestions(8, COVERED, LATER, HOUR));
    const window = measureWindow(...argumentsOf(few), baseline);
    expect(window.density?.sessions).toBe(8);
    expect(window.scores).toHaveLength(8);
  });

  it('counts a session of only the worst-covered queries as evidence, however many queries it has', () => {
    const vectors = matrixOf([[...rowOf(live.vectors, 0)]]);
    for (let count = 1; count <= 60; count++) {
      const queries = Array.from({ length: count }, (_, i): ScoredQuery => {
        return { id: `${i}`, session: 'one', score: -1, row: 0, occurredAt: LATER };
      });
      const { scores } = measureWindow(queries, vectors, baseline);
      expect(scores).toHaveLength(1);
      expect(scores[0]).toBeGreaterThan(0.6);
      expect(scores[0]).toBeLessThanOrEqual(1);
    }
  });

  it('without queries has no density, and is neutral evidence', () => {
    const window = measureWindow([], matrixOf([]), baseline);
    expect(window.density).toBeNull();
    expect(window.scores).toHaveLength(0);
  });

  it('with another embedding dimension is rejected', () => {
    const vectors = matrixOf([[1, 0, 0]]);
    const query: ScoredQuery = { id: 'a', session: null, score: 0.5, row: 0, occurredAt: LATER };
    expect(() => measureWindow([query], vectors, baseline)).toThrow('The queries have 3 dimensions');
  });
});
