/**
 * Cleans up after pipelines, golden sets and checks that were removed from the config. Once a minute, each scheduler
 * records the items (pipelines, golden sets and checks) of its config. If no scheduler records an item for five
 * minutes, the item counts as removed: recalld deletes its check states and latest measurements, and closes the
 * incident of a removed pipeline. The delay keeps schedulers with different configs, as during a rolling deployment,
 * from closing or reopening each other's incidents.
 */
import type { Pool, PoolClient } from 'pg';
import { configuredChecks, type WatchedChecks } from '../../checks/check-store.ts';
import type { Logger } from '../../core/logger.ts';
import { type Clock, MINUTE_MS } from '../../core/time.ts';
import { goldenSegment } from '../../golden/rules/golden-set.ts';
import {
  type ConfiguredItem,
  type ConfiguredItems,
  endMissingItems,
  GRACE_MS,
  type ItemKey,
} from '../../live/deployments/configured-items.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import { closeIncident } from './incidents.ts';

interface FollowConfigDeps extends WatchedChecks {
  readonly parts: ConfiguredItems;
  readonly pool: Pool;
  readonly retentionDays: ReadonlyMap<string, number>;
  readonly clock: Clock;
  readonly logger: Logger;
}

function partsOfConfig(deps: FollowConfigDeps): readonly ConfiguredItem[] {
  const none = { retentionDays: null };
  const parts = [
    ...deps.pipelines.flatMap(({ name: pipeline, golden }): ConfiguredItem[] => [
      { pipeline, kind: 'pipeline', name: pipeline, retentionDays: deps.retentionDays.get(pipeline) ?? null },
      ...golden.map(({ set: name }) => ({ pipeline, kind: 'golden_set', name, ...none }) as const),
    ]),
    ...configuredChecks(deps).map(({ pipeline, name }) => ({ pipeline, kind: 'check', name, ...none }) as const),
  ];
  // The list may contain the same check several times, once per golden set.
  return [...new Map(parts.map((part) => [JSON.stringify([part.pipeline, part.kind, part.name]), part])).values()];
}

/**
 * Records the configured items, and marks items that are no longer in any config as removed.
 *
 * @param since time at which this scheduler started. During the first `GRACE_MS`, no item is marked as removed, because
 *   other replicas may still be restarting and may not have recorded their items yet
 */
export async function followConfig(deps: FollowConfigDeps, since: Date): Promise<void> {
  const { parts, pool, clock, logger } = deps;
  const now = clock.now();
  await parts.recordSeen(partsOfConfig(deps), now);
  if (now.getTime() - since.getTime() < GRACE_MS) return;
  const closed = await inTransaction(pool, async (client) => {
    await lockInTransaction(client, 'configured parts');
    return endInTransaction(client, now);
  });
  for (const pipeline of closed)
    logger.info('an incident was closed because its pipeline was removed from the config', { pipeline });
}

/** Returns the pipelines whose incident was closed. */
async function endInTransaction(client: PoolClient, now: Date): Promise<string[]> {
  const ended = await endMissingItems(client, now);
  const namesOf = (kind: ItemKey['kind']) => ended.filter((part) => part.kind === kind);
  const pipelines = namesOf('pipeline').map(({ name }) => name);
  const closed: string[] = [];
  for (const pipeline of pipelines)
    if (await closeIncident(client, pipeline, 'left_config', now)) closed.push(pipeline);
  await client.query(
    `delete from check_states
      where pipeline = any($1::text[]) or (pipeline, check_name) in (select * from unnest($2::text[], $3::text[]))`,
    [pipelines, ...columnsOf(namesOf('check'), [({ pipeline }) => pipeline, ({ name }) => name])],
  );
  const segments = columnsOf(namesOf('golden_set'), [({ pipeline }) => pipeline, ({ name }) => goldenSegment(name)]);
  for (const table of ['latest_measurements', 'measurement_gaps'])
    await client.query(
      `delete from ${table}
        where pipeline = any($1::text[]) or (pipeline, segment) in (select * from unnest($2::text[], $3::text[]))`,
      [pipelines, ...segments],
    );
  await client.query(
    `update uncovered_topics set state = 'closed', note = 'The pipeline was removed from the config.', changed_at = $2::timestamptz
      where pipeline = any($1::text[]) and state <> 'closed'`,
    [pipelines, now],
  );
  return closed;
}

/** Runs `followConfig` immediately, then every minute. Returns a function that ends the loop after the current step. */
export function watchConfig(deps: FollowConfigDeps): () => Promise<void> {
  const { clock, logger } = deps;
  const since = clock.now();
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await followConfig(deps, since).catch((error: unknown) =>
        logger.warn('the list of configured pipelines and checks could not be stored; recalld retries in a minute', {
          reason: String(error),
        }),
      );
      await clock.sleep(MINUTE_MS, stopping.signal).catch(() => undefined);
    }
  })();
  return async () => {
    stopping.abort();
    await running;
  };
}
