/** The daemon's HTTP servers: health and metrics in every role, the API only in the `api` role. */

import type { CleanupStack } from '../core/cleanup-stack.ts';
import { messageOf, rejectionTable } from '../core/errors.ts';
import { createOtlpReceiver } from '../live/edge/otlp/receiver.ts';
import { createJsonBodyReader } from '../live/json-bodies.ts';
import { createLiveIngest } from '../live/live-ingest.ts';
import { feedbackKinds } from '../live/rules/live-query.ts';
import { createAuthProxy } from '../platform/access/auth-proxy.ts';
import {
  type AuthenticationSettings,
  createAuthentication,
  limitOfMetrics,
} from '../platform/access/authentication.ts';
import { signInProviderOf, watchSignInProvider } from '../platform/access/sign-in-provider.ts';
import type { Readiness, Unready } from '../platform/http/operations.ts';
import { createMemoryBudget } from '../platform/http/request-bodies.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { startAtZero } from '../platform/metrics/prometheus.ts';
import { outageOf } from '../platform/postgres/outage.ts';
import { assertWritable } from '../platform/postgres/sessions.ts';
import { sharedRun, within } from '../platform/threads/wait.ts';
import type { Config } from './config/schema.ts';
import { createDb, openDatabase } from './database.ts';
import type { Daemon } from './dependencies.ts';
import { type HttpParts, type HttpServer, startHttpServer } from './http/server.ts';

const READY_TIMEOUT_MS = 2000;

export async function startHttp(
  daemon: Daemon,
  withApi: boolean,
  clockProblem: () => string | null,
  cleanups: CleanupStack,
) {
  const { exporter, logger, storage, config } = daemon;
  const provider = withApi ? signInProviderOf(config) : null;
  let phase: 'starting' | 'ready' | 'stopping' = 'starting';
  // Runs only one check at a time, because unauthenticated callers may send any number of requests.
  const checkServices = sharedRun(() => dependenciesReady(daemon, clockProblem, provider?.problem ?? (() => null)));
  const readiness = async (): Promise<Readiness> =>
    phase === 'ready' ? checkServices() : { notReady: [{ name: 'daemon', reason: `it is ${phase}` }], degraded: [] };
  const onShed: HttpParts['onShed'] = (reason) => exporter.meter.increment('recalld_ingest_shed_total', { reason });
  const memory = createMemoryBudget(daemon.config.server.max_under_way_mb * 1024 * 1024);
  const showPeak = setInterval(() => exporter.meter.set('recalld_requests_under_way_bytes', {}, memory.peak()), 1000);
  showPeak.unref();
  cleanups.defer('gauge of running requests', async () => clearInterval(showPeak));
  const { auth_proxy: authProxy, trusted_proxies: trusted, metrics_protected: isProtected } = config.server;
  const authentication = createAuthentication({
    findKey: (text) => daemon.db.platform.keys.find(text),
    sessions: daemon.db.platform.sessions,
    optional: keysAreOptional(config),
    logger,
    provider,
    authProxy: authProxy === undefined ? null : createAuthProxy(authProxy, trusted, logger),
  });
  const api = withApi ? await createApi(daemon, authentication, cleanups) : null;
  const servers = await listen(daemon.config, cleanups, {
    logger,
    trustedProxies: daemon.config.server.trusted_proxies,
    operations: {
      metrics: exporter,
      limitOf: (request) => limitOfMetrics(request, authentication, isProtected),
      readiness,
    },
    memory,
    api,
    outageOf: (error) => outageOf(storage.pool.options, error),
    onShed,
  });
  return {
    /** Base URL for health and metrics. */
    url: servers.at(-1)?.url ?? '',
    markReady(): void {
      phase = 'ready';
    },
    /** Reports the daemon as stopping. Resolves when all in-flight requests have ended. */
    async drain(): Promise<void> {
      phase = 'stopping';
      await Promise.all(servers.map((server) => server.drain()));
    },
    runningRequests: () => servers.reduce((sum, { underWay }) => sum + underWay, 0),
  };
}

async function createApi(
  daemon: Daemon,
  authentication: AuthenticationSettings,
  cleanups: CleanupStack,
): Promise<HttpParts['api']> {
  const { config, meter, schedule, logger } = daemon;
  const { provider } = authentication;
  showIngestCounters(config, meter);
  if (provider !== null) {
    const ending = new AbortController();
    const watching = watchSignInProvider(provider, daemon, ending.signal);
    cleanups.defer('watch of the sign-in provider', async () => {
      ending.abort();
      await watching;
    });
  }
  const ingest = await createLiveIngest(daemon, cleanups);
  const largeBodies = createJsonBodyReader();
  cleanups.defer('reader of large bodies', () => largeBodies.close());
  schedule.every({ expression: '50 * * * * *', timezone: 'UTC' }, () => {
    ingest
      .refresh()
      .catch((error: unknown) => logger.warn('could not read the number of replicas', { reason: String(error) }));
  });
  return {
    context: daemon,
    openTables: (scope) => ({
      ...openDatabase(daemon.storage, null, scope),
      dbBy: (person) => createDb(daemon.storage.pool, person, scope),
    }),
    pool: daemon.storage.pool,
    authentication,
    ingest: {
      ...ingest,
      largeBodies,
      onRejected: (code) => meter.increment('recalld_ingest_rejected_total', { code }),
    },
    otlpReceiver: createOtlpReceiver(config, ingest, meter, cleanups),
  };
}

/** Starts one server; with `metrics_port`, starts one server for the API and one for operations. */
async function listen(config: Config, cleanups: CleanupStack, deps: HttpParts): Promise<readonly HttpServer[]> {
  const { host, port, metrics_port: metricsPort } = config.server;
  const servers =
    metricsPort === null
      ? [{ deps, port, setting: 'server.port' }]
      : [
          { deps: { ...deps, operations: null }, port, setting: 'server.port' },
          { deps: { ...deps, api: null }, port: metricsPort, setting: 'server.metrics_port' },
        ];
  const listening: HttpServer[] = [];
  for (const { deps: parts, ...address } of servers) {
    const started = await startHttpServer(parts, { host, ...address });
    cleanups.defer(`HTTP server of ${address.setting}`, () => started.close());
    listening.push(started);
  }
  return listening;
}

/**
 * True if the daemon may run without keys. A daemon without keys trusts every caller, so it must be reachable only from
 * this machine.
 */
function keysAreOptional({ server, storage }: Config): boolean {
  if (server.oidc !== undefined) return false;
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(server.host) && server.trusted_proxies.length === 0;
  return storage.url === 'embedded' && isLocal;
}

/** An unreachable replica or a wrong clock makes the daemon degraded, not unready, because its work continues. */
async function dependenciesReady(
  { storage, queue }: Daemon,
  clockProblem: () => string | null,
  signInProblem: () => string | null,
): Promise<Readiness> {
  const checkReplica = async (): Promise<void> => {
    const problem = await storage.replicaProblem();
    if (problem !== null) throw problem;
  };
  const checkDatabase = async (): Promise<void> => {
    const problem = storage.problem();
    if (problem !== null) throw new Error(problem);
    await assertWritable(storage.pool);
  };
  let queueProblems: readonly string[] = [];
  const checkQueue = async (): Promise<void> => {
    await queue.counts();
    queueProblems = await queue.problems();
  };
  const checks = [
    { name: 'database', result: checkDatabase() },
    { name: 'queue', result: checkQueue() },
    { name: 'replica', result: checkReplica() },
  ];
  const results = await Promise.allSettled(checks.map(({ result }) => within(READY_TIMEOUT_MS, result)));
  const failed = results.flatMap((result, index): Unready[] =>
    result.status === 'fulfilled' ? [] : [{ name: checks[index]?.name ?? '', reason: messageOf(result.reason) }],
  );
  const [problem, signIn] = [clockProblem(), signInProblem()];
  return {
    notReady: failed.filter(({ name }) => name !== 'replica'),
    degraded: [
      ...failed.filter(({ name }) => name === 'replica'),
      ...queueProblems.map((reason) => ({ name: 'queue', reason })),
      ...(problem === null ? [] : [{ name: 'clock', reason: problem }]),
      ...(signIn === null ? [] : [{ name: 'sign-in', reason: signIn }]),
    ],
  };
}

/**
 * Exports the live traffic counters as 0 when the process starts, as `showJobCounters` does for a worker's counters.
 */
export function showIngestCounters({ pipelines }: Config, meter: Meter): void {
  startAtZero(meter, 'recalld_ingest_shed_total');
  for (const code of Object.keys(rejectionTable)) startAtZero(meter, 'recalld_ingest_rejected_total', { code });
  startAtZero(meter, 'recalld_trace_spans_total');
  for (const { name: pipeline, privacy, isolation } of pipelines) {
    startAtZero(meter, 'recalld_queries_total', { pipeline });
    startAtZero(meter, 'recalld_query_zero_results_total', { pipeline });
    for (const kind of feedbackKinds) startAtZero(meter, 'recalld_feedback_total', { pipeline, kind });
    for (const { name: rule } of isolation) {
      startAtZero(meter, 'recalld_live_isolation_violations_total', { pipeline, rule });
      startAtZero(meter, 'recalld_live_isolation_unchecked_total', { pipeline, rule });
    }
    if (privacy.presidio !== undefined) startAtZero(meter, 'recalld_redaction_service_total', { pipeline });
  }
}
