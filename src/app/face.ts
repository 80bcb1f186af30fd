/** What the daemon shows to the network: health and metrics always, the API in the role `api`. */
import { createApiKeys } from '../adapters/postgres/api-keys.ts';
import type { Config } from '../contracts/config/schema.ts';
import type { Unready } from '../http/operations.ts';
import { type HttpDeps, startHttpServer } from '../http/server.ts';
import type { CleanupStack } from './cleanup-stack.ts';
import type { Dependencies } from './dependencies.ts';
import { createErasure } from './erasure.ts';
import { createLiveIngest } from './live-ingest.ts';
import { createOtlpReceiver } from './otlp-receiver.ts';
import { version } from './version.ts';

/** How long a service may take to answer before it counts as not ready. */
const PATIENCE_MS = 2000;

/** @returns where health and metrics answer */
export async function showFace(
  dependencies: Dependencies,
  withApi: boolean,
  cleanups: CleanupStack,
): Promise<string> {
  const { exporter, logger } = dependencies;
  let isStopping = false;
  const unready = async (): Promise<readonly Unready[]> =>
    isStopping ? [{ name: 'daemon', reason: 'it is stopping' }] : unreadyDependencies(dependencies);
  const onShed: HttpDeps['onShed'] = (reason) =>
    exporter.meter.increment('recalld_ingest_shed_total', { reason });
  const api = withApi ? await createApi(dependencies, onShed) : null;
  const url = await listen(dependencies.config, cleanups, {
    logger,
    version,
    operations: { metrics: exporter, unready },
    api,
    onShed,
  });
  cleanups.defer('readiness', () => {
    isStopping = true;
  });
  return url;
}

async function createApi(dependencies: Dependencies, onShed: HttpDeps['onShed']): Promise<HttpDeps['api']> {
  const { config, traffic, clock, exporter, hashKey, schedule, logger, storage } = dependencies;
  const ingest = await createLiveIngest({ config, traffic, clock, meter: exporter.meter, hashKey });
  schedule.every('50 * * * * *', 'UTC', () => {
    ingest
      .refresh()
      .catch((error: unknown) =>
        logger.warn('the number of replicas could not be read', { reason: String(error) }),
      );
  });
  return {
    ...ingest,
    ...createErasure(traffic, hashKey),
    receive: createOtlpReceiver(config, ingest, exporter.meter),
    maxRequestsPerMinute: config.server.max_requests_per_minute,
    onShed,
    onRejected: (code) => exporter.meter.increment('recalld_ingest_rejected_total', { code }),
    authentication: { keys: createApiKeys(storage.pool), optional: keysAreOptional(config) },
  };
}

/** One server, or one for the API and one for operations when `metrics_port` keeps them apart. */
async function listen(config: Config, cleanups: CleanupStack, deps: HttpDeps): Promise<string> {
  const { host, port, metrics_port: metricsPort } = config.server;
  const servers =
    metricsPort === null
      ? [{ deps, port, setting: 'server.port' }]
      : [
          { deps: { ...deps, operations: null }, port, setting: 'server.port' },
          { deps: { ...deps, api: null }, port: metricsPort, setting: 'server.metrics_port' },
        ];
  let url = '';
  for (const server of servers) {
    const started = await startHttpServer(server.deps, { host, port: server.port }, server.setting);
    cleanups.defer(`HTTP server of ${server.setting}`, () => started.close());
    url = started.url;
  }
  return url;
}

/** Only a daemon that nobody else can reach, on a database of its own, trusts every caller. */
function keysAreOptional({ server, storage }: Config): boolean {
  return storage.url === 'embedded' && ['127.0.0.1', '::1', 'localhost'].includes(server.host);
}

async function unreadyDependencies({ storage, queue, clock }: Dependencies): Promise<Unready[]> {
  const asked = [
    { name: 'database', answer: storage.pool.query('select 1') },
    { name: 'queue', answer: queue.counts() },
  ];
  const timer = new AbortController();
  const late = clock.sleep(PATIENCE_MS, timer.signal).then(() => {
    throw new Error(`no answer within ${PATIENCE_MS / 1000} s`);
  });
  const answers = await Promise.allSettled(asked.map(({ answer }) => Promise.race([answer, late])));
  timer.abort();
  late.catch(() => undefined);
  return answers.flatMap((answer, index) =>
    answer.status === 'fulfilled'
      ? []
      : [
          {
            name: asked[index]?.name ?? '',
            reason: answer.reason instanceof Error ? answer.reason.message : String(answer.reason),
          },
        ],
  );
}
