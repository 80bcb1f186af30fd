/** Unreadable retriever spans, reported by the doctor, are written at most once a minute and deleted after a month. */
import { expect, it } from 'vitest';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { createCleanupStack } from '../../../../src/core/cleanup-stack.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { createLiveIngest } from '../../../../src/live/live-ingest.ts';
import type { UnreadableRetriever } from '../../../../src/live/rules/otel/unreadable-retriever.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { silentLogger } from '../../../support/log.ts';
import { MemoryMeter } from '../../../support/memory-telemetry.ts';

const database = useDatabase();
const DAY_MS = 86_400_000;

const config = parseConfig(
  'pipelines: [{name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/"}}]',
  'recalld.yaml',
  {},
  () => '',
);
const kind: UnreadableRetriever = {
  pipeline: 'docs',
  instrumentation: 'langchain',
  reason: 'no_documents',
  attributes: ['input.value', 'openinference.span.kind'],
  spans: 3,
};

async function ingestWith(traffic: LiveTraffic) {
  let nowMs = NOON.getTime();
  const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs, sleep: async () => {} };
  const ingest = await createLiveIngest(
    contextOf({
      config,
      db: { live: { traffic } },
      clock,
      meter: new MemoryMeter(),
      logger: silentLogger,
      hashKey: 'a key of at least sixteen bytes',
      hooks: { reportViolations: () => undefined },
    }),
    createCleanupStack(silentLogger),
  );
  return {
    recordUnreadable: (found: Parameters<typeof ingest.recordUnreadable>[0]) => ingest.recordUnreadable(found),
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}

it('the first unreadable spans of a kind are written immediately, and further ones once a minute', async () => {
  const traffic = createLiveTraffic(database.pool, 'a');
  const { recordUnreadable, pass } = await ingestWith(traffic);
  const spans = async () => (await traffic.unreadableSince(NOON)).map(({ reason, spans: count }) => [reason, count]);
  await recordUnreadable([kind]);
  expect(await traffic.unreadableSince(NOON)).toEqual([{ ...kind, lastSeenAt: NOON }]);
  pass(10_000);
  await recordUnreadable([{ ...kind, spans: 4 }]);
  expect(await spans()).toEqual([['no_documents', 3]]);
  pass(60_000);
  await recordUnreadable([{ ...kind, spans: 5 }]);
  expect(await spans()).toEqual([['no_documents', 12]]);
  await recordUnreadable([{ ...kind, reason: 'cut_off', spans: 1 }]);
  expect(new Set(await spans())).toEqual(
    new Set([
      ['no_documents', 12],
      ['cut_off', 1],
    ]),
  );
  await traffic.recordUnreadable([{ ...kind, pipeline: 'later' }], new Date(NOON.getTime() + 40 * DAY_MS));
  expect(await traffic.unreadableSince(NOON)).toMatchObject([{ pipeline: 'later' }]);
});

it('ingestion continues if unreadable spans cannot be written, and they are written later', async () => {
  const stored = createLiveTraffic(database.pool, 'a');
  let isAway = true;
  const recordUnreadable: LiveTraffic['recordUnreadable'] = (...args) =>
    isAway
      ? Promise.reject(new RecalldError('database_unreachable', 'PostgreSQL does not answer.'))
      : stored.recordUnreadable(...args);
  const ingest = await ingestWith({ ...stored, recordUnreadable });
  const own = { ...kind, instrumentation: 'away' };
  await ingest.recordUnreadable([own]);
  isAway = false;
  ingest.pass(60_000);
  await ingest.recordUnreadable([own]);
  const found = await stored.unreadableSince(NOON);
  expect(found.find(({ instrumentation }) => instrumentation === 'away')).toMatchObject({ spans: 6 });
});
