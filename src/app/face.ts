/** What the daemon shows to the network: health and metrics always, the API in the role `api`. */
import type { Pool } from 'pg';
import { createJsonBodyReader } from '../adapters/json-bodies/reader.ts';
import { createApiKeys } from '../adapters/postgres/api-keys.ts';
import { createDensityStates } from '../adapters/postgres/density/density-states.ts';
import { createDeployments } from '../adapters/postgres/deployments.ts';
import { createGoldenRotations } from '../adapters/postgres/golden/golden-rotations.ts';
import { createGoldenRuns } from '../adapters/postgres/golden/golden-runs.ts';
import { createGoldenSets } from '../adapters/postgres/golden/golden-sets.ts';
import { createGoldenTicks } from '../adapters/postgres/golden/golden-ticks.ts';
import { createLiveTraffic } from '../adapters/postgres/live/live-traffic.ts';
import { createMeasurements } from '../adapters/postgres/measurements.ts';
import { outageOf } from '../adapters/postgres/pool.ts';
import type { Config } from '../contracts/config/schema.ts';
import { messageOf } from '../core/error-message.ts';
import type { Readiness, Unready } from '../http/operations.ts';
import { type HttpDeps, type HttpServer, startHttpServer } from '../http/server.ts';
import { createConsoleApi } from './api/console-api.ts';
import { createDensityApi } from './api/density-api.ts';
import { createErasure } from './api/erasure.ts';
import { createGoldenApi } from './api/golden-api.ts';
import { createLiveIngest } from './api/live-ingest.ts';
import { createOtlpReceiver } from './api/otlp-receiver.ts';
import { createStatusApi } from './api/status-api.ts';
import type { CleanupStack } from './cleanup-stack.ts';
import type { Dependencies } from './dependencies.ts';
import { showIngestCounters } from './known-counters.ts';
import { version } from './version.ts';

/** How long a service may take to answer before it counts as not ready. */
const PATIENCE_MS = 2000;

export interface Face {
  /** Where health and metrics answer. */
  readonly url: string;
  /** The daemon is ready, and says so. */
  welcome(): void;
  /** Says that the daemon is stopping, and resolves when all requests that have begun have ended. */
  retire(): Promise<void>;
  requestsUnderWay(): number;
}

export async function showFace(
  dependencies: Dependencies,
  withApi: boolean,
  cleanups: CleanupStack,
): Promise<Face> {
  const { exporter, logger, storage } = dependencies;
  let phase: 'starting' | 'ready' | 'stopping' = 'starting';
  const readiness = async (): Promise<Readiness> =>
    phase === 'ready'
      ? dependenciesReady(dependencies)
      : { notReady: [{ name: 'daemon', reason: `it is ${phase}` }], degraded: [] };
  const onShed: HttpDeps['onShed'] = (reason) =>
    exporter.meter.increment('recalld_ingest_shed_total', { reason });
  const api = withApi ? await createApi(dependencies, onShed, cleanups) : null;
  const servers = await listen(dependencies.config, cleanups, {
    logger,
    version,
    operations: { metrics: exporter, readiness },
    api,
    outageOf: (error) => outageOf(storage.pool.options, error),
    onShed,
  });
  return {
    url: servers.at(-1)?.url ?? '',
    welcome() {
      phase = 'ready';
    },
    async retire() {
      phase = 'stopping';
      await Promise.all(servers.map((server) => server.retire()));
    },
    requestsUnderWay: () => servers.reduce((sum, { underWay }) => sum + underWay, 0),
  };
}

async function createApi(
  dependencies: Dependencies,
  onShed: HttpDeps['onShed'],
  cleanups: CleanupStack,
): Promise<HttpDeps['api']> {
  const { config, traffic, clock, exporter, hashKey, schedule, logger, storage } = dependencies;
  const { meter } = exporter;
  showIngestCounters(config, meter);
  const ingest = await createLiveIngest({ config, traffic, clock, meter, logger, hashKey, cleanups });
  const largeBodies = createJsonBodyReader();
  cleanups.defer('reader of large bodies', () => largeBodies.close());
  schedule.every('50 * * * * *', 'UTC', () => {
    ingest
      .refresh()
      .catch((error: unknown) =>
        logger.warn('the number of replicas could not be read', { reason: String(error) }),
      );
  });
  return {
    ...ingest,
    largeBodies,
    ...createErasure(traffic, hashKey),
    topics: dependencies.topics,
    ...createGoldenApi(dependencies),
    ...createStatusApi(readingFrom(storage.readPool, dependencies)),
    ...createDensityApi(dependencies),
    ...createConsoleApi(dependencies),
    deployments: dependencies.deployments,
    receive: createOtlpReceiver(config, ingest, meter, cleanups),
    maxRequestsPerMinute: config.server.max_requests_per_minute,
    onShed,
    onRejected: (code) => meter.increment('recalld_ingest_rejected_total', { code }),
    authentication: { keys: createApiKeys(storage.pool), optional: keysAreOptional(config) },
  };
}

/** What only reads for people, from the replica where the config has one. */
function readingFrom(pool: Pool, dependencies: Dependencies): Dependencies {
  if (pool === dependencies.storage.pool) return dependencies;
  return {
    ...dependencies,
    sets: createGoldenSets(pool),
    runs: createGoldenRuns(pool),
    rotations: createGoldenRotations(pool),
    ticks: createGoldenTicks(pool),
    measurements: createMeasurements(pool),
    densityStates: createDensityStates(pool),
    deployments: createDeployments(pool),
    traffic: createLiveTraffic(pool, dependencies.replica),
  };
}

/** One server, or one for the API and one for operations when `metrics_port` keeps them apart. */
async function listen(
  config: Config,
  cleanups: CleanupStack,
  deps: HttpDeps,
): Promise<readonly HttpServer[]> {
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

/** Only a daemon that nobody else can reach, on a database of its own, trusts every caller. */
function keysAreOptional({ server, storage }: Config): boolean {
  return storage.url === 'embedded' && ['127.0.0.1', '::1', 'localhost'].includes(server.host);
}

/** A replica that is away keeps nobody from work: the primary answers for it. */
async function dependenciesReady({ storage, queue, clock }: Dependencies): Promise<Readiness> {
  const askReplica = async (): Promise<void> => {
    const trouble = await storage.replicaTrouble();
    if (trouble !== null) throw trouble;
  };
  const asked = [
    { name: 'database', answer: storage.pool.query('select 1') },
    { name: 'queue', answer: queue.counts() },
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
  return {
    notReady: away.filter(({ name }) => name !== 'replica'),
    degraded: away.filter(({ name }) => name === 'replica'),
  };
}
