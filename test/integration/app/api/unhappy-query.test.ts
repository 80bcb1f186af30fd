/** Sends negative feedback on a query that was not sampled, while the database is unavailable. */
import { expect, it } from 'vitest';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { createCleanupStack } from '../../../../src/core/cleanup-stack.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { createLiveIngest } from '../../../../src/live/live-ingest.ts';
import type { Feedback } from '../../../../src/live/rules/live-query.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { aLiveQuery, documents, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { silentLogger } from '../../../support/log.ts';
import { MemoryMeter } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();

const config = parseConfig(
  `pipelines:
     - name: docs
       retriever: {kind: http, url: "http://127.0.0.1:9/"}
       sampling: {rate: 0, always_keep: [negative_feedback]}`,
  'recalld.yaml',
  {},
  () => '',
);

it.each<[string, keyof LiveTraffic]>([
  ['the feedback was stored', 'areErased'],
  ['the erasures were read', 'record'],
])('negative feedback that is sent again stores its query, if the database went down after %s', async (_, failing) => {
  const stored = createLiveTraffic(database.pool, 'a');
  await stored.createPartitions(NOON);
  let isAway = false;
  const traffic: LiveTraffic = {
    ...stored,
    [failing]: (...args: readonly unknown[]) =>
      isAway
        ? Promise.reject(new RecalldError('database_unreachable', 'PostgreSQL does not respond.'))
        : (stored[failing] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
  };
  const cleanups = createCleanupStack(silentLogger);
  const { ingestQueries, ingestFeedback } = await createLiveIngest(
    contextOf({
      config,
      db: { live: { traffic } },
      clock: new SteerableClock(NOON),
      meter: new MemoryMeter(),
      logger: silentLogger,
      hashKey: 'a key of at least sixteen bytes',
      hooks: { reportViolations: () => undefined },
    }),
    cleanups,
  );
  const id = `unhappy at ${failing}`;
  expect(await ingestQueries([aLiveQuery({ id, results: documents('d1') })])).toMatchObject({
    accepted: 1,
    sampled: 0,
  });

  const down: Feedback = {
    id: null,
    queryId: id,
    pipeline: 'docs',
    kind: 'thumb',
    value: 'down',
    documentId: null,
    rank: null,
    occurredAt: null,
    userId: null,
    comment: null,
  };
  isAway = true;
  await expect(ingestFeedback([down])).rejects.toMatchObject({ code: 'database_unreachable' });
  isAway = false;
  await ingestFeedback([down]);
  await cleanups.run();

  const { rows } = await database.pool.query('select keep_reason from live_queries where id = $1', [id]);
  expect(rows).toEqual([{ keep_reason: 'negative_feedback' }]);
});
