/** Injects violations of isolation rules over every API while the daemon is killed several times. */
import { expect, onTestFinished } from 'vitest';
import { json, startFaultServer } from './fault-server.ts';
import { anInstallation, type InstalledDaemon } from './installation.ts';
import { startRedis } from './redis.ts';
import { waitFor } from './wait-for.ts';

const SECRET = 'the secret text of a user';
const PAGED_MS = 60_000;
/** Maximum number of items in a response. */
const MAX_PAGE = 1000;

function aQuery(id: string, documents: readonly string[]) {
  return {
    id,
    pipeline: 'docs',
    text: SECRET,
    segments: { tenant: 'acme' },
    results: documents.map((one) => ({ id: one })),
  };
}

/** A batch of three queries: only the results of the second query violate isolation. */
function aBatch(n: number) {
  return [
    aQuery(`clean-${n}-a`, ['acme/1', 'public/1']),
    aQuery(`batch-${n}`, ['acme/1', 'beta/7']),
    aQuery(`clean-${n}-b`, ['acme/2']),
  ];
}

const spanId = (n: number): string => (n + 1).toString(16).padStart(16, '0');
const TRACE = '5b8efff798038103d269b633813fc60c';

function aTrace(n: number) {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const attributes = [
    text('openinference.span.kind', 'RETRIEVER'),
    text('input.value', SECRET),
    text('tenant', 'acme'),
    text('retrieval.documents.0.document.id', 'acme/1'),
    text('retrieval.documents.1.document.id', 'beta/7'),
  ];
  const at = `${BigInt(Date.now()) * 1_000_000n}`;
  const span = {
    traceId: TRACE,
    spanId: spanId(n),
    name: 'search',
    startTimeUnixNano: at,
    endTimeUnixNano: at,
    attributes,
  };
  return { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ scope: {}, spans: [span] }] }] };
}

const entryPoints = [
  { path: '/v1/queries', idOf: (n: number) => `single-${n}`, body: (n: number) => aQuery(`single-${n}`, ['beta/7']) },
  { path: '/v1/queries', idOf: (n: number) => `batch-${n}`, body: aBatch },
  { path: '/v1/traces', idOf: (n: number) => `${TRACE}-${spanId(n)}`, body: aTrace },
] as const;

/**
 * Injects violating queries singly, in batches and as spans, while the daemon is killed three times. Expects every
 * violation to be stored once, and the first violation to cause a page within a minute.
 *
 * @param violations number of violating queries that are sent in each of the three ways
 * @returns the number of stored violations
 */
export async function injectViolations(backend: 'postgres' | 'redis', violations: number): Promise<number> {
  const webhook = await startFaultServer(json({}));
  onTestFinished(() => webhook.close());
  const redis = backend === 'redis' ? await startRedis() : null;
  onTestFinished(async () => redis?.close());
  const {
    serve,
    query,
    json: output,
    recalld,
  } = await anInstallation({
    'recalld.yaml': `
server: {port: 0}
queue: {backend: ${backend}${redis === null ? '' : `, url: "${redis.url}"`}}
notify: [{kind: webhook, url: ${webhook.url}}]
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/"}
    sampling: {rate: 0, always_keep: [], segments: {tenant=acme: 0.2}}
    isolation: [{name: tenants, segment: tenant, allow: ["{{tenant}}/*", "public/*"]}]
`,
  });
  let daemon: InstalledDaemon = await serve();
  expect((await daemon.post('/v1/queries', aBatch(0))).status).toBe(202);
  const leakedAt = Date.now();
  await waitFor(() => webhook.requests.length > 0, { timeoutMs: PAGED_MS });
  expect(Date.now() - leakedAt).toBeLessThan(PAGED_MS);
  expect(JSON.parse(webhook.requests[0]?.body ?? '{}')).toMatchObject({
    event: 'incident.opened',
    summary: 'docs: isolation rule tenants violated by 1 live query',
    description: expect.stringContaining('acme got beta/7 (rank 2)') as string,
  });

  // A client retries until the daemon confirms that the data is stored; in the meantime, the daemon is killed three
  // times.
  const stored = async () =>
    Number((await query<{ n: string }>('select count(*) as n from isolation_violations'))[0]?.n ?? 0);
  const send = async (path: string, body: unknown): Promise<void> => {
    await waitFor(
      async () => {
        const answer = await daemon.post(path, body).catch(() => null);
        return answer !== null && answer.status < 300;
      },
      { timeoutMs: 60_000 },
    );
  };
  let killed = 0;
  const killOften = (async () => {
    for (; killed < 3; killed += 1) {
      await waitFor(async () => stored().then((count) => count > (killed + 1) * violations * 0.5), {
        timeoutMs: 60_000 + 100 * violations,
      });
      daemon.child.kill('SIGKILL');
      await daemon.finished;
      daemon = await serve();
    }
  })();
  await Promise.all([
    killOften,
    ...entryPoints.map(async ({ path, body }) => {
      for (let n = 0; n < violations; n += 1) await send(path, body(n));
    }),
  ]);

  const rows = await query<{ id: string }>('select query_id as id from isolation_violations order by 1');
  const wanted = entryPoints.flatMap(({ idOf }) => Array.from({ length: violations }, (_, n) => idOf(n)));
  expect(rows.map(({ id }) => id)).toEqual(wanted.toSorted());
  expect(JSON.stringify(await query('select * from isolation_violations'))).not.toContain(SECRET);

  const { json: page } = await daemon.call('GET', `/v1/isolation-violations?pipeline=docs&limit=${MAX_PAGE}`);
  expect(page['items']).toHaveLength(Math.min(wanted.length, MAX_PAGE));
  const checked = await recalld('isolation check --from 2026-01-01');
  expect(checked.code).toBe(1);
  const report = await output<{ violated: number; pipelines: { queries: number }[] }>(
    'isolation check --from 2026-01-01',
  );
  const [{ n: samples } = { n: '0' }] = await query<{ n: string }>(
    `select count(*) as n from live_queries where results::text like '%beta/7%'`,
  );
  expect(report.violated).toBe(Number(samples));
  const incidents = await query('select from incidents');
  expect(incidents).toHaveLength(1);
  await daemon.stop();
  return rows.length;
}
