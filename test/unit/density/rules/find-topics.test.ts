import { describe, expect, it } from 'vitest';
import { buildBaseline } from '../../../../src/density/rules/baseline.ts';
import { findTopics, type TopicBaseline } from '../../../../src/density/rules/find-topics.ts';
import { selectRows } from '../../../../src/math/vector/matrix.ts';
import { evenQuestions, type Question, queryWorld } from '../../../support/query-world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FROM = new Date('2026-03-02T00:00:00Z');
const LATER = new Date('2026-04-01T00:00:00Z');
const COVERED = [0, 1, 2, 3, 4, 5];
const MISSING = 6;

const world = queryWorld(21, 7, 6);
const asked = world.ask(evenQuestions(3000, COVERED, FROM, 14 * DAY));
const period = { from: FROM, until: new Date(FROM.getTime() + 14 * DAY) };
const built = buildBaseline(asked.queries, asked.vectors, { period, windowMs: HOUR, seed: 1 });
if ('kind' in built) throw new Error('The baseline was not built.');
const baseline: TopicBaseline = {
  regions: built.regions,
  scores: built.scores,
  tail: { vectors: asked.vectors, tail: built.tail, sessions: built.global.sessions },
  sample: selectRows(
    asked.vectors,
    Array.from({ length: 600 }, (_, row) => 5 * row),
  ),
};

function withMissing(count: number): Question[] {
  return evenQuestions(count, COVERED, LATER, DAY).map((question, i) =>
    i % 10 === 0 ? { ...question, topic: MISSING } : question,
  );
}

describe('the search for uncovered topics', () => {
  it('finds a topic that is not in the baseline, and classifies it as new demand', () => {
    const live = world.ask(withMissing(1000));
    const found = findTopics(live.queries, live.vectors, baseline, 1);
    if (found.kind !== 'topics') throw new Error('There was enough to look.');
    expect(found.sessions).toBe(1000);
    expect(found.topics.map(({ cause }) => cause)).toEqual(['new_demand']);
    expect(found.topics[0]?.excessPoints).toBeGreaterThan(7);
    const { queries, vectors } = live;
    expect(findTopics(queries.toReversed(), vectors, baseline, 1)).toEqual(found);
  });

  it('classifies a topic of the baseline as lost content, and names the baseline queries of its region', () => {
    const remaining = world.chunksOf(COVERED.slice(1));
    const live = world.ask(evenQuestions(1000, COVERED, LATER, DAY), remaining);
    const found = findTopics(live.queries, live.vectors, baseline, 1);
    if (found.kind !== 'topics') throw new Error('There was enough to look.');
    const lost = found.topics.find(({ cause }) => cause === 'lost_content');
    // One in six rows of the baseline is about the topic; the sampled rows are five rows apart.
    const topics = lost?.baselineRows.map((row) => COVERED[(5 * row) % COVERED.length]) ?? [];
    expect(topics.filter((topic) => topic === 0).length / topics.length).toBeGreaterThan(0.9);
  });

  it('does not report a cluster that mixes many new subjects as a topic', () => {
    const NEW = 34;
    const many = queryWorld(22, COVERED.length + NEW, COVERED.length);
    const topicOf = (i: number): number | null => (i % 5 === 0 ? COVERED.length + ((i / 5) % NEW) : null);
    const before = many.ask(evenQuestions(3000, COVERED, FROM, 14 * DAY));
    const learnt = buildBaseline(before.queries, before.vectors, { period, windowMs: HOUR, seed: 1 });
    if ('kind' in learnt) throw new Error('The baseline was not built.');
    const live = many.ask(
      evenQuestions(1000, COVERED, LATER, DAY).map((question, i) => ({
        ...question,
        topic: topicOf(i) ?? question.topic,
      })),
    );
    const found = findTopics(
      live.queries,
      live.vectors,
      {
        regions: learnt.regions,
        scores: learnt.scores,
        tail: { vectors: before.vectors, tail: learnt.tail, sessions: learnt.global.sessions },
        sample: selectRows(
          before.vectors,
          Array.from({ length: 600 }, (_, row) => 5 * row),
        ),
      },
      1,
    );
    if (found.kind !== 'topics') throw new Error('There was enough to look.');
    const topics = new Map(live.queries.map(({ id }, i) => [id, topicOf(i)]));
    for (const { members } of found.topics) {
      const counts = members.map((id) => members.filter((other) => topics.get(other) === topics.get(id)).length);
      expect(Math.max(...counts) / members.length).toBeGreaterThan(0.5);
    }
  });

  it('states which data is insufficient', () => {
    const live = world.ask(withMissing(50));
    const findIn = (parts: Partial<TopicBaseline> = {}, from = live) =>
      findTopics(from.queries, from.vectors, { ...baseline, ...parts }, 1);
    expect(findIn()).toMatchObject({ kind: 'insufficient_data', of: 'window_tail', need: 30 });
    const more = world.ask(withMissing(1000));
    const sample = selectRows(baseline.sample, [0, 1, 2]);
    expect(findIn({ sample }, more)).toEqual({
      kind: 'insufficient_data',
      of: 'baseline_sample',
      have: 3,
      need: 12,
    });
  });
});
