/** Opens everything that the daemon uses, in order: threads, database, queue, schedule, exporter. */

import { randomBytes } from 'node:crypto';
import type { CleanupStack } from '../core/cleanup-stack.ts';
import type { Context } from '../core/context.ts';
import type { Logger } from '../core/logger.ts';
import { systemClock } from '../core/system-clock.ts';
import type { Clock } from '../core/time.ts';
import { createGoldenStatistics } from '../golden/golden-statistics.ts';
import { newRunId } from '../golden/runs/run-golden-set.ts';
import { createExplainBudget } from '../incidents/explain/explain-budget.ts';
import { createExplainTurns } from '../incidents/explain/explain-turns.ts';
import { storedHashKey } from '../live/privacy/personal-data.ts';
import { createExporter, type Exporter, LAG_INTERVAL_MS } from '../platform/metrics/prometheus.ts';
import { openJobQueue } from '../platform/queue/bullmq.ts';
import { createSchedule, type Schedule } from '../platform/queue/node-cron.ts';
import { createLagHistory, type LagHistory } from '../platform/threads/lag-history.ts';
import { readStoredGauges } from '../report/status/publish.ts';
import { createComputePool } from './compute.ts';
import type { Config } from './config/schema.ts';
import {
  createDb,
  openDatabase,
  openStorage,
  queueBackend,
  queueOwner,
  replica,
  type Storage,
  type StorageRequest,
} from './database.ts';
import { buildFromConfig } from './from-config.ts';
import { withHooks } from './hooks.ts';
import { jobCatalogue } from './jobs.ts';
import { version } from './version.ts';

/** Number of threads. One thread leaves the second core of a small machine free for requests. */
const THREADS = 1;
const MAX_WAITING = 16;
/** Interval at which the queue's store is checked for full memory and evictions. */
const QUEUE_CHECK_MS = 30_000;

/** The threads start with their first task and end during cleanup. */
function openCompute(logger: Logger, cleanups: CleanupStack) {
  const pool = createComputePool({
    threads: THREADS,
    maxWaiting: MAX_WAITING,
    onDone: ({ task, computeMs, totalMs, processBytes }) =>
      logger.debug('a computation is done', {
        task,
        compute_ms: Math.round(computeMs),
        total_ms: Math.round(totalMs),
        process_bytes: processBytes,
      }),
  });
  cleanups.defer('compute threads', () => pool.close());
  return { compute: pool, statistics: createGoldenStatistics(pool) };
}

declare module '../core/context.ts' {
  interface Context {
    readonly config: Config;
  }
}

/** The context of a daemon, with the resources that only the daemon opens and closes. */
export interface Daemon extends Context {
  readonly ownLag: LagHistory;
  readonly storage: Storage;
  readonly schedule: Schedule;
  readonly exporter: Exporter;
}

interface DaemonRequest extends Omit<StorageRequest, 'purpose'> {
  readonly clock?: Clock;
}

/** @throws the errors of openStorage and openJobQueue; RecalldError config_invalid if a retriever cannot be created */
export async function openDependencies(settings: DaemonRequest): Promise<Daemon> {
  const { config, logger, cleanups, clock = systemClock } = settings;
  const built = buildFromConfig(config, logger, clock.now());
  cleanups.defer('pipelines, judges, receivers and the OTLP endpoint', () => built.close());
  const compute = openCompute(logger, cleanups);
  const storage = await openStorage({ ...settings, purpose: 'daemon' });
  const { db, reads } = openDatabase(storage);
  await db.live.traffic.createPartitions(clock.now());
  const hashKey = config.storage.hash_key ?? (await storedHashKey(storage.pool));
  const owner = await queueOwner(storage);
  const queue = await openJobQueue({ backend: queueBackend(config, storage), jobs: jobCatalogue, logger, owner });
  cleanups.defer('job queue', () => queue.close());
  await queue.problems();
  const queueCheck = setInterval(() => void queue.problems().catch(() => undefined), QUEUE_CHECK_MS);
  queueCheck.unref();
  cleanups.defer('check of the queue store', async () => clearInterval(queueCheck));
  const schedule = createSchedule(logger);
  cleanups.defer('schedule', () => schedule.stop());
  const exporter = createExporter({
    // Deferred, because the exporter starts reading before `context` is created below.
    readStoredGauges: () => Promise.resolve().then(() => readStoredGauges(context)),
    clock,
    logger,
    version,
    buckets: { recalld_query_latency_seconds: config.metrics.latency_buckets },
  });
  cleanups.defer('snapshot of the stored gauges', () => exporter.close());
  const context = withHooks<Omit<Daemon, 'hooks'>>({
    ...built,
    ...compute,
    db,
    reads,
    dbBy: (person) => createDb(storage.pool, person),
    config,
    logger,
    clock,
    storage,
    meter: exporter.meter,
    holder: replica,
    hashKey,
    newRunId,
    // Creates an id that is short enough to type, such as t-3f9a1c2b07.
    newTopicId: () => `t-${randomBytes(5).toString('hex')}`,
    ownLag: createLagHistory(clock, LAG_INTERVAL_MS / 1000),
    explainTurns: createExplainTurns(),
    explainBudget: createExplainBudget(clock),
    queue,
    schedule,
    exporter,
  });
  return context;
}
