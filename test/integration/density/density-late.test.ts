/**
 * Compares density monitoring of the same traffic when everything is on time, when samples arrive late, and when
 * windows are evaluated late.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { useDatabase } from '../../support/database.ts';
import { evenly, HOUR, WatchedStream, withTopic } from '../../support/watched-stream.ts';

const COVERED = evenly([0, 1, 2, 3, 4, 5]);
const MISSING = withTopic(6, 0.3, COVERED);
const SOON = { windowMs: 4 * HOUR, needs: { days: 3, sessions: 600 } } as const;
const LEARNING_HOURS = 3 * 24 + 8;
const WATCHED_HOURS = 24;
const PER_HOUR = 15;

/** True for one query in five, which arrives seven hours later than the others. */
const isLate = (_: LiveSample, index: number): boolean => index % 5 === 0;

function useStream() {
  const database = useDatabase();
  let stream: WatchedStream | undefined;
  beforeAll(async () => {
    stream = new WatchedStream(database.pool, SOON);
    await stream.run(LEARNING_HOURS, 12, COVERED, 4);
  }, 120_000);
  afterAll(() => stream?.close());
  return {
    get stream(): WatchedStream {
      if (stream === undefined) throw new Error('the stream is there only while tests run');
      return stream;
    },
  };
}

/** Simulates a day on which users ask for missing content. @param every hours between two evaluations of the windows */
async function watchDay(stream: WatchedStream, every: number, delay: number): Promise<void> {
  const from = stream.clock.now().getTime();
  const delayed: { readonly at: number; readonly samples: readonly LiveSample[] }[] = [];
  for (let hour = 1; hour <= WATCHED_HOURS; hour++) {
    const start = new Date(from + (hour - 1) * HOUR);
    await stream.traffic.createPartitions(start);
    const samples = stream.samples(start, PER_HOUR, MISSING);
    const onTime = delay === 0 ? samples : samples.filter((sample, i) => !isLate(sample, i));
    const end = new Date(from + hour * HOUR);
    await stream.ask(receivedAt(end, onTime));
    delayed.push({ at: hour + delay, samples: samples.filter((sample) => !onTime.includes(sample)) });
    for (const { samples: late } of delayed.filter(({ at }) => at === hour)) {
      await stream.ask(receivedAt(end, late));
    }
    // The queries are measured soon, because recalld measures only some of the queries in a long queue.
    stream.clock.set(new Date(end.getTime() + HOUR / 12));
    await stream.measure();
    stream.clock.set(new Date(end.getTime() + HOUR / 4));
    if (hour % every === 0) await stream.evaluate();
    stream.clock.set(end);
  }
  for (const { samples } of delayed.filter(({ at }) => at > WATCHED_HOURS)) {
    await stream.ask(receivedAt(stream.clock.now(), samples));
  }
}

function receivedAt(now: Date, samples: readonly LiveSample[]): LiveSample[] {
  return samples.map((sample) => ({ ...sample, receivedAt: now }));
}

/** Returns the windows of a stream without the times at which they were measured. */
async function sums(stream: WatchedStream) {
  const windows = await stream.deps.db.density.watch.windows('docs', new Date(0));
  return windows.map((window) => ({ ...window, measuredMs: null }));
}

async function density(stream: WatchedStream) {
  const latest = await stream.deps.db.measurements.latest(stream.clock.now());
  const found = latest.find(({ measure, segment }) => measure === 'query_density' && segment === 'all');
  return found?.newest ?? null;
}

describe('a day of the same traffic', () => {
  const inOrder = useStream();
  const lateWindows = useStream();
  const lateSamples = useStream();

  it('fires the same alert whether its windows are evaluated one by one or all at once', async () => {
    await watchDay(inOrder.stream, 4, 0);
    await watchDay(lateWindows.stream, WATCHED_HOURS, 0);
    expect(await sums(lateWindows.stream)).toEqual(await sums(inOrder.stream));
    const [one, other] = await Promise.all(
      [inOrder, lateWindows].map(({ stream }) => stream.deps.db.density.watch.find('docs')),
    );
    expect(other?.state).toEqual(one?.state);
    const eventsOf = async ({ stream }: { readonly stream: WatchedStream }) =>
      (await stream.events()).map(({ kind, occurredAt, sentence }) => ({ kind, occurredAt, sentence }));
    const events = await eventsOf(inOrder);
    expect(events.map(({ kind }) => kind)).toContain('page');
    expect((await eventsOf(lateWindows)).slice(1)).toEqual(events.slice(1));
  }, 120_000);

  it('has the same density if a fifth of its samples arrive after their windows have closed', async () => {
    const [late, known] = [lateSamples.stream, inOrder.stream];
    await watchDay(late, 4, 7);
    expect(await sums(late)).not.toEqual(await sums(known));
    // The next windows include late queries of earlier windows.
    for (const stream of [late, known]) await stream.run(8, 12, COVERED, 4);
    expect(await sums(late)).toEqual(await sums(known));
    const [one, other] = [await density(known), await density(late)];
    expect(one?.n).toBeGreaterThanOrEqual(200);
    expect([other?.value, other?.ciLow, other?.n]).toEqual([one?.value, one?.ciLow, one?.n]);
  }, 120_000);
});
