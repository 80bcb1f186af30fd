/** Runs weeks of live traffic through the job that finds uncovered topics. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { erase } from '../../../src/app/erasure/erase.ts';
import { readTopicGauges } from '../../../src/density/gauges.ts';
import { useDatabase } from '../../support/database.ts';
import { DAY, evenly, HOUR, WatchedStream, withTopic } from '../../support/watched-stream.ts';

const COVERED = evenly([0, 1, 2, 3, 4, 5]);
/** Pages are possible after three days, so that a test need not simulate two weeks. */
const SOON = { windowMs: 4 * HOUR, needs: { days: 3, sessions: 600 } } as const;
const PARENTAL_LEAVE = 6;

function useStream() {
  const database = useDatabase();
  let stream: WatchedStream | undefined;
  beforeAll(() => {
    stream = new WatchedStream(database.pool, SOON);
  });
  afterAll(() => stream?.close());
  return () => {
    if (stream === undefined) throw new Error('the stream is there only while tests run');
    return stream;
  };
}

const unclosed = { pipeline: 'docs', states: ['open', 'acknowledged'], limit: 10 } as const;
const gauge = async (stream: WatchedStream) =>
  (await readTopicGauges(stream.deps))(stream.deps.clock.now()).map(({ name, value }) => [name, value]);

describe('a new topic of live queries', () => {
  const stream = useStream();

  it('is not listed before users ask about it, and the number of topics is unknown before the first search', async () => {
    await stream().run(3 * 24 + 8, 12, COVERED, 4);
    expect(await gauge(stream())).toEqual([]);
    await stream().run(24, 24, COVERED, 4);
    await stream().detectTopics();
    expect(await stream().deps.db.density.topics.list(unclosed)).toEqual([]);
    expect(await gauge(stream())).toEqual([['recalld_topics_uncovered', 0]]);
  }, 120_000);

  it('is found once by three replicas, with its name, share, cause, segment, chunks and examples', async () => {
    await stream().run(24, 24, withTopic(PARENTAL_LEAVE, 0.1, COVERED), 4);
    stream().workers = 3;
    await stream().detectTopics();
    const [topic, ...others] = await stream().deps.db.density.topics.list(unclosed);
    expect(others).toEqual([]);
    expect(topic).toMatchObject({ cause: 'new_demand', state: 'open', lostChunks: [] });
    expect(topic?.label.toSorted()).toEqual(['leave', 'parental']);
    const { trafficShare = 0, shareLow = 0, shareHigh = 0, density, examples = [] } = topic ?? {};
    expect(trafficShare).toBeGreaterThan(0.06);
    expect(shareLow).toBeLessThan(trafficShare);
    expect(shareHigh).toBeGreaterThan(trafficShare);
    expect(shareHigh).toBeLessThan(0.16);
    expect(density).toBeLessThan(0.2);
    expect(topic?.segments.map(([segment]) => segment)).toEqual(['language=en']);
    expect(topic?.nearest).toHaveLength(5);
    const texts = await stream().deps.db.density.topics.texts('docs', examples);
    expect([...texts.values()].filter((text) => text.includes('parental leave')).length).toBeGreaterThan(5);
    expect(await gauge(stream())).toEqual([['recalld_topics_uncovered', 1]]);
  }, 120_000);

  it('loses its erased examples', async () => {
    const [topic] = await stream().deps.db.density.topics.list(unclosed);
    const [first = '', ...others] = topic?.examples ?? [];
    const query = { kind: 'query', id: first, idHash: 'hash of the id' } as const;
    await erase(stream().pool, query, 'somebody', stream().clock.now());
    expect((await stream().deps.db.density.topics.list(unclosed))[0]?.examples).toEqual(others);
  });

  it('does not change when a search is repeated, and is updated by the next search', async () => {
    const before = await stream().deps.db.density.topics.list(unclosed);
    await stream().detectTopics();
    expect(await stream().deps.db.density.topics.list(unclosed)).toEqual(before);
    const id = before[0]?.id ?? '';
    await stream().deps.db.density.topics.setState(
      id,
      'acknowledged',
      'A page is being written.',
      'test',
      stream().clock.now(),
    );

    await stream().run(12, 24, withTopic(PARENTAL_LEAVE, 0.1, COVERED), 4);
    await stream().detectTopics();
    const after = await stream().deps.db.density.topics.list(unclosed);
    expect(after.map((topic) => [topic.id, topic.state, topic.firstSeen])).toEqual([
      [id, 'acknowledged', before[0]?.firstSeen],
    ]);
    expect(await stream().deps.db.density.topics.windows(id)).toHaveLength(2);
  }, 120_000);

  it('closes automatically when its content is added to the store', async () => {
    stream().store.hold(stream().chunksOf([0, 1, 2, 3, 4, 5, PARENTAL_LEAVE]));
    for (let day = 0; day < 3; day++) {
      await stream().run(24, 24, withTopic(PARENTAL_LEAVE, 0.1, COVERED), 4);
      await stream().detectTopics();
    }
    expect(await stream().deps.db.density.topics.list(unclosed)).toEqual([]);
    expect(await gauge(stream())).toEqual([['recalld_topics_uncovered', 0]]);
  }, 120_000);

  it('is no longer counted when the last search is too old', async () => {
    stream().clock.set(new Date(stream().clock.now().getTime() + 2 * DAY));
    expect(await gauge(stream())).toEqual([]);
  });
});

describe('a topic whose chunks are deleted', () => {
  const stream = useStream();

  it('is classified as lost content, with the missing chunks', async () => {
    await stream().run(3 * 24 + 8, 12, COVERED, 4);
    await stream().run(4, 24, COVERED, 4);
    await stream().detectTopics();
    stream().store.hold(stream().chunksOf([0, 1, 2, 3, 5]));
    await stream().run(24, 24, COVERED, 4);
    await stream().detectTopics();
    const topics = await stream().deps.db.density.topics.list(unclosed);
    expect(topics.map(({ cause }) => cause)).toContain('lost_content');
    const lost = topics.flatMap(({ lostChunks }) => lostChunks);
    expect(lost.length).toBeGreaterThan(5);
    expect(lost.every((id) => id.startsWith('chunk 4.'))).toBe(true);
  }, 120_000);
});
