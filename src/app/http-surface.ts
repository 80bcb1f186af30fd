/** What the daemon shows to the network: health and metrics always, the API in the role `api`. */

import type { CleanupStack } from '../core/cleanup-stack.ts';
import { messageOf, rejectionTable } from '../core/errors.ts';
import { createOtlpReceiver } from '../live/edge/otlp/receiver.ts';
import { createJsonBodyReader } from '../live/json-bodies.ts';
import { createLiveIngest } from '../live/live-ingest.ts';
import { feedbackKinds } from '../live/rules/live-query.ts';
import { createAuthentication } from '../platform/access/authentication.ts';
import type { Readiness, Unready } from '../platform/http/operations.ts';
import { createMemoryBudget } from '../platform/http/request-bodies.ts';
import { labelValues } from '../platform/metrics/catalogue.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { outageOf } from '../platform/postgres/outage.ts';
import { assertWritable } from '../platform/postgres/sessions.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { Config } from './config/schema.ts';
import type { Daemon } from './dependencies.ts';
import { type HttpDeps, type HttpServer, startHttpServer } from './http/server.ts';
import { version } from './version.ts';

/** How long a service may take to answer before it counts as not ready. */
const PATIENCE_MS = 2000;

export interface HttpSurface {
  /** Where health and metrics answer. */
  readonly url: string;
  /** The daemon is ready, and says so. */
  markReady(): void;
  /** Says that the daemon is stopping, and resolves when all requests that have begun have ended. */
  drain(): Promise<void>;
  requestsUnderWay(): number;
}

export async function startHttp(
  daemon: Daemon,
  withApi: boolean,
  clockWatch: Pick<ClockWatch, 'trouble'>,
  cleanups: CleanupStack,
): Promise<HttpSurface> {
  const { exporter, logger, storage } = daemon;
  let phase: 'starting' | 'ready' | 'stopping' = 'starting';
  // Anybody may ask, as often as they like: one question is under way at a time.
  const askServices = sharedReading(() => dependenciesReady(daemon, clockWatch));
  const readiness = async (): Promise<Readiness> =>
    phase === 'ready' ? askServices() : { notReady: [{ name: 'daemon', reason: `it is ${phase}` }], degraded: [] };
  const onShed: HttpDeps['onShed'] = (reason) => exporter.meter.increment('recalld_ingest_shed_total', { reason });
  const memory = createMemoryBudget(daemon.config.server.max_under_way_mb * 1024 * 1024);
  const showPeak = setInterval(() => exporter.meter.set('recalld_requests_under_way_bytes', {}, memory.peak()), 1000);
  showPeak.unref();
  cleanups.defer('watch over the requests under way', async () => clearInterval(showPeak));
  const api = withApi ? await createApi(daemon, cleanups) : null;
  const servers = await listen(daemon.config, cleanups, {
    logger,
    version,
    trustedProxies: daemon.config.server.trusted_proxies,
    operations: { metrics: exporter, readiness },
    memory,
    api,
    outageOf: (error) => outageOf(storage.pool.options, error),
    onShed,
  });
  return {
    url: servers.at(-1)?.url ?? '',
    markReady() {
      phase = 'ready';
    },
    async drain() {
      phase = 'stopping';
      await Promise.all(servers.map((server) => server.drain()));
    },
    requestsUnderWay: () => servers.reduce((sum, { underWay }) => sum + underWay, 0),
  };
}

async function createApi(daemon: Daemon, cleanups: CleanupStack): Promise<HttpDeps['api']> {
  const { config, clock, meter, hashKey, schedule, logger, db } = daemon;
  showIngestCounters(config, meter);
  const ingest = await createLiveIngest({ config, traffic: db.live.traffic, clock, meter, logger, hashKey, cleanups });
  const largeBodies = createJsonBodyReader();
  cleanups.defer('reader of large bodies', () => largeBodies.close());
  schedule.every({ expression: '50 * * * * *', timezone: 'UTC' }, () => {
    ingest
      .refresh()
      .catch((error: unknown) => logger.warn('the number of replicas could not be read', { reason: String(error) }));
  });
  return {
    context: daemon,
    pool: daemon.storage.pool,
    authentication: createAuthentication({
      keys: db.platform.keys,
      sessions: db.platform.sessions,
      optional: keysAreOptional(config),
      logger,
    }),
    ingest: {
      ...ingest,
      largeBodies,
      onRejected: (code) => meter.increment('recalld_ingest_rejected_total', { code }),
    },
    otlpReceiver: createOtlpReceiver(config, ingest, meter, cleanups),
  };
}

/** One server, or one for the API and one for operations when `metrics_port` keeps them apart. */
async function listen(config: Config, cleanups: CleanupStack, deps: HttpDeps): Promise<readonly HttpServer[]> {
  const { host, port, metrics_port: metricsPort } = config.server;
  const servers =
    metricsPort === null
      ? [{ deps, port, setting: 'server.port' }]
      : [
          { deps: { ...deps, operations: null }, port, setting: 'server.port' },
          { deps: { ...deps, api: null }, port: metricsPort, setting: 'server.metrics_port' },
        ];
  const listening: HttpServer[] = [];
  for (const server of servers) {
    const started = await startHttpServer(server.deps, { host, port: server.port }, server.setting);
    cleanups.defer(`HTTP server of ${server.setting}`, () => started.close());
    listening.push(started);
  }
  return listening;
}

/** Only a daemon that nobody else can reach, on a database of its own, trusts every caller. Others come through a proxy. */
function keysAreOptional({ server, storage }: Config): boolean {
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(server.host) && server.trusted_proxies.length === 0;
  return storage.url === 'embedded' && isLocal;
}

/** A replica that is away keeps nobody from work, for the primary answers for it; nor does a wrong clock from all work. */
async function dependenciesReady(
  { storage, queue, clock }: Daemon,
  clockWatch: Pick<ClockWatch, 'trouble'>,
): Promise<Readiness> {
  const askReplica = async (): Promise<void> => {
    const trouble = await storage.replicaTrouble();
    if (trouble !== null) throw trouble;
  };
  const askDatabase = async (): Promise<void> => {
    const trouble = storage.trouble();
    if (trouble !== null) throw new Error(trouble);
    await assertWritable(storage.pool);
  };
  let doubts: readonly string[] = [];
  const askQueue = async (): Promise<void> => {
    await queue.counts();
    doubts = await queue.doubts();
  };
  const asked = [
    { name: 'database', answer: askDatabase() },
    { name: 'queue', answer: askQueue() },
    { name: 'replica', answer: askReplica() },
  ];
  const timer = new AbortController();
  const late = clock.sleep(PATIENCE_MS, timer.signal).then(() => {
    throw new Error(`no answer within ${PATIENCE_MS / 1000} s`);
  });
  const answers = await Promise.allSettled(asked.map(({ answer }) => Promise.race([answer, late])));
  timer.abort();
  late.catch(() => undefined);
  const away = answers.flatMap((answer, index): Unready[] =>
    answer.status === 'fulfilled'
      ? []
      : [
          {
            name: asked[index]?.name ?? '',
            reason: messageOf(answer.reason),
          },
        ],
  );
  const trouble = clockWatch.trouble();
  return {
    notReady: away.filter(({ name }) => name !== 'replica'),
    degraded: [
      ...away.filter(({ name }) => name === 'replica'),
      ...doubts.map((reason) => ({ name: 'queue', reason })),
      ...(trouble === null ? [] : [{ name: 'clock', reason: trouble }]),
    ],
  };
}

/**
 * A read that whoever asks while it is under way shares. Such a caller may get what stood there before it asked: for
 * readers of one moment, such as the gauges of a scrape, and for nobody who has just written.
 */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
}

/** What a process counts that takes in live traffic, as 0 from the start, as a worker shows its own. */
export function showIngestCounters({ pipelines }: Config, meter: Pick<Meter, 'increment'>): void {
  for (const reason of labelValues.recalld_ingest_shed_total.reason)
    meter.increment('recalld_ingest_shed_total', { reason }, 0);
  for (const code of Object.keys(rejectionTable)) meter.increment('recalld_ingest_rejected_total', { code }, 0);
  for (const outcome of labelValues.recalld_trace_spans_total.outcome)
    meter.increment('recalld_trace_spans_total', { outcome }, 0);
  for (const { name: pipeline, privacy } of pipelines) {
    for (const outcome of labelValues.recalld_queries_total.outcome)
      meter.increment('recalld_queries_total', { pipeline, outcome }, 0);
    meter.increment('recalld_query_zero_results_total', { pipeline }, 0);
    for (const kind of feedbackKinds) {
      for (const sentiment of labelValues.recalld_feedback_total.sentiment)
        meter.increment('recalld_feedback_total', { pipeline, kind, sentiment }, 0);
    }
    if (privacy.presidio === undefined) continue;
    for (const outcome of labelValues.recalld_redaction_service_total.outcome)
      meter.increment('recalld_redaction_service_total', { pipeline, outcome }, 0);
  }
}
