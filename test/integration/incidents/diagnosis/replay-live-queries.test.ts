import { describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Retriever } from '../../../../src/connectors/retrievers/retriever.ts';
import {
  isReplayDue,
  LIVE_REPLAY,
  replayLiveQueries,
} from '../../../../src/incidents/diagnosis/replay-live-queries.ts';
import type { LiveSample } from '../../../../src/live/sql/record-arrivals.ts';
import { anAlert, aWatchedPipeline, documents, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { hurriedClock } from '../../../support/hurried-clock.ts';
import { aLiveSample } from '../../../support/live-rows.ts';
import { hours } from '../../../support/measurements.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';

const database = useDatabase();
const never = new AbortController().signal;
let pipelines = 0;

const drop = anAlert({ rule: 'RecalldCheckCritical' });

const listOf = (word: string, query: number) => [`${word}-${query}`, `${word}-${query}-next`];

/** Twelve queries from a day ago, and twelve from the last half hour; each query's text is its number. */
async function replayed(
  parts: {
    /** Prefix of the document ids in the older queries' results; by default `good`, like the results of the replay. */
    readonly before?: string;
    /** Prefix of the document ids in the recent queries' results; by default `good`, like the results of the replay. */
    readonly now?: string;
    readonly retriever?: Retriever['retrieve'];
    readonly sample?: Partial<LiveSample>;
    readonly recentSample?: Partial<LiveSample>;
    readonly recent?: number;
  } = {},
) {
  const pipeline = `docs-${(pipelines += 1)}`;
  const db = createDb(database.pool);
  const clock = { ...hurriedClock(1), now: () => NOON };
  const asked: string[] = [];
  const samplesOf = (
    word: string,
    count: number,
    first: number,
    receivedAt: Date,
    given = parts.sample,
  ): LiveSample[] =>
    Array.from({ length: count }, (_, place) => {
      const query = first + place;
      const of = {
        id: `q${query}`,
        text: String(query),
        sessionHash: `s${query}`,
        results: documents(...listOf(word, query)),
      };
      return aLiveSample({ pipeline, ...of, receivedAt, occurredAt: receivedAt, ...given });
    });
  const samples = [
    ...samplesOf(parts.before ?? 'good', 12, 0, hours(-24)),
    ...samplesOf(parts.now ?? 'good', parts.recent ?? 12, 100, hours(-0.5), parts.recentSample ?? parts.sample),
  ];
  for (const day of [hours(-24), NOON]) await db.live.traffic.createPartitions(day);
  await db.live.traffic.record({ samples, counts: [], levels: [] });
  const retrieve: Retriever['retrieve'] = async ({ text }) => {
    asked.push(text);
    return { kind: 'documents', documents: documents(...listOf('good', Number(text))), latencyMs: 5, attempts: 1 };
  };
  const watched = aWatchedPipeline({ name: pipeline, retriever: { retrieve: parts.retriever ?? retrieve } });
  const context = contextOf({ db, clock, holder: 'me', logger: new MemoryLogger() });
  await replayLiveQueries(context, watched, NOON, never);
  const latest = (await db.measurements.latest(clock.now())).filter((one) => one.pipeline === pipeline);
  const { newest: found, gap } = latest.find((one) => one.measure === LIVE_REPLAY) ?? {};
  return { asked, latest, found, gap };
}

describe('live queries that are replayed during an incident', () => {
  it('get the results that users got if nothing has changed', async () => {
    const { asked, found } = await replayed();
    expect(asked).toHaveLength(24);
    expect(found).toMatchObject({ value: 1, n: 12, windowStart: hours(-0.5), details: { before: 1, before_n: 12 } });
  });

  it('get other results than users now if only live traffic is affected', async () => {
    const { found } = await replayed({ now: 'filtered' });
    expect(found).toMatchObject({ value: 0, n: 12, details: { before: 1 } });
  });

  it('get results where users got none because their queries failed', async () => {
    const { found } = await replayed({ recentSample: { outcome: 'error', results: [] } });
    expect(found).toMatchObject({ value: 0, n: 12, details: { before: 1 } });
  });

  it('get other results than users before if the retriever has changed', async () => {
    const { found } = await replayed({ before: 'old' });
    expect(found).toMatchObject({ value: 1, n: 12, details: { before: 0 } });
  });

  it('are sent with their segments and the number of documents that users requested', async () => {
    const requests: unknown[] = [];
    const retriever: Retriever['retrieve'] = async ({ k, tags }) => {
      requests.push({ k, tags });
      return { kind: 'documents', documents: [], latencyMs: 5, attempts: 1 };
    };
    await replayed({ retriever, sample: { topK: 7, segments: { tenant: 'acme' } } });
    expect(requests).toHaveLength(24);
    expect(new Set(requests.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ k: 7, tags: { tenant: 'acme' } })]),
    );
  });

  it('are not measured with fewer than eight queries, without texts, or if the retriever fails', async () => {
    const tooFew = { found: null, gap: { reason: 'too_few_queries' } };
    expect(await replayed({ recent: 7 })).toMatchObject(tooFew);
    expect(await replayed({ sample: { text: null } })).toMatchObject(tooFew);
    let calls = 0;
    const failing: Retriever['retrieve'] = async () => {
      calls += 1;
      return { kind: 'error', code: 'http_503', message: 'It returned 503.', latencyMs: 1, attempts: 1 };
    };
    const failed = await replayed({ retriever: failing });
    expect(failed).toMatchObject({ found: null, gap: { reason: 'retriever_failed' } });
    expect(calls).toBeLessThan(8);
    expect(isReplayDue([drop], failed.latest, hours(0.4))).toBe(false);
  });

  it('are replayed again half an hour later', async () => {
    const { latest } = await replayed();
    expect(isReplayDue([drop], latest, hours(0.4))).toBe(false);
    expect(isReplayDue([drop], latest, hours(0.5))).toBe(true);
    expect(isReplayDue([drop], [], NOON)).toBe(true);
  });

  it('are not replayed while the retriever is down, or if only isolation rules are violated', () => {
    const outage = anAlert({ rule: 'RecalldRetrieverNotAnswering' });
    const isolation = anAlert({ rule: 'RecalldIsolationViolated' });
    expect(isReplayDue([drop, outage], [], NOON)).toBe(false);
    expect(isReplayDue([isolation], [], NOON)).toBe(false);
    expect(isReplayDue([isolation, drop], [], NOON)).toBe(true);
  });
});
