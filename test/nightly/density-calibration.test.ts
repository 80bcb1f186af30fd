import { describe, expect, it } from 'vitest';
import { articleWorld } from '../../bench/density/article-world.ts';
import { syntheticWorld } from '../../bench/density/synthetic-world.ts';
import { noChange, traffic } from '../../bench/density/traffic.ts';
import { scoresOn, type World } from '../../bench/density/world.ts';
import { measureDensity } from '../../bench/density-calibration.ts';
import { randomNumbers } from '../../bench/random-numbers.ts';
import { meanDirection } from '../../src/math/vector/matrix.ts';

const world = syntheticWorld(7, { groups: 3, topicsPerGroup: 4, chunksPerTopic: 12, questionsPerTopic: 60 });
const scores = scoresOn(world.store, world.vectors, meanDirection(world.store));

/** Share of a topic's queries that score below the 5 % quantile for queries about covered topics. */
function badlyCovered(of: World, given: Float64Array, topic: number): number {
  const held = new Set(of.chunkTopics);
  const scoresOf = (isIn: (topic: number) => boolean): number[] =>
    [...given].filter((_, question) => isIn(of.topics[question] ?? -1)).toSorted((a, b) => a - b);
  const covered = scoresOf((one) => held.has(one));
  const low = covered[Math.floor(0.05 * covered.length)] ?? 0;
  const own = scoresOf((one) => one === topic);
  return own.filter((score) => score < low).length / own.length;
}

function trafficOf(seed: number) {
  return traffic(world, scores, 40, { people: randomNumbers(seed), path: randomNumbers(1) });
}

describe('the simulated worlds', () => {
  it('cover a far uncovered topic worse than a near one, and a near one worse than their own topics', () => {
    const [near, far] = world.uncovered.map(({ topic }) => badlyCovered(world, scores, topic));
    expect(near).toBeGreaterThan(0.05);
    expect(far).toBeGreaterThan(near ?? 1);
  });

  it('leave out of the store real articles that real queries ask about', async () => {
    const articles = await articleWorld(1);
    const measured = scoresOn(articles.store, articles.vectors, meanDirection(articles.store));
    const held = new Set(articles.chunkTopics);
    expect(articles.uncovered).toHaveLength(6);
    expect(articles.uncovered.filter(({ topic }) => held.has(topic))).toEqual([]);
    const shares = articles.uncovered.map(({ topic }) => badlyCovered(articles, measured, topic));
    expect(Math.max(...shares)).toBeGreaterThan(0.1);
  });
});

describe('the simulated traffic', () => {
  const week = Array.from({ length: 168 }, (_, hour) => hour);

  it('has the requested volume over a week, and more queries at noon than at night or on weekends', () => {
    const live = trafficOf(2);
    const counts = week.map((hour) => live.hour(hour, noChange).length);
    const sum = (hours: readonly number[]): number => hours.reduce((total, hour) => total + (counts[hour] ?? 0), 0);
    expect(sum(week) / 168).toBeGreaterThan(30);
    expect(sum(week) / 168).toBeLessThan(50);
    expect(sum([12, 36, 60, 84, 108])).toBeGreaterThan(sum([3, 27, 51, 75, 99]));
    expect(sum([132, 156])).toBeLessThan(sum([12, 36]));
  });

  it('is the same for the same seed', () => {
    const [one, other] = [trafficOf(3), trafficOf(3)];
    expect(week.map((hour) => one.hour(hour, noChange))).toEqual(week.map((hour) => other.hour(hour, noChange)));
  });

  it('contains queries about an added topic as often as requested', () => {
    const live = trafficOf(4);
    const topic = world.uncovered[0]?.topic ?? -1;
    const asked = week.flatMap((hour) => live.hour(hour, { ...noChange, added: { topic, share: 0.2 } }));
    const share = asked.filter(({ question }) => world.topics[question] === topic).length / asked.length;
    expect(share).toBeGreaterThan(0.15);
    expect(share).toBeLessThan(0.25);
  });
});

describe('the quick simulation of live queries', () => {
  it('covers a stream without changes and one with each change, and the canary detects another model', async () => {
    const { quiet, changed } = await measureDensity(true, 1, () => {});
    expect(quiet).toHaveLength(1);
    expect(changed.map(({ change }) => change)).toEqual([
      'uncovered topic (near), 20 % of traffic',
      'uncovered topic (far), 20 % of traffic',
      'deleted topics, 5 % of traffic',
      'deleted topics, 10 % of traffic',
      'other embedding model',
      'other mix of covered topics, by factors of exp(0.5 z)',
      'other mix of covered topics, by factors of exp(1 z)',
    ]);
    expect(changed.map(({ canary }) => canary)).toEqual([0, 0, 0, 0, 1, 0, 0]);
    expect(changed.find(({ change }) => change === 'other embedding model')?.causes).toEqual({
      'other model': 1,
    });
  });
});
