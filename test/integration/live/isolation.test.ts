/** Isolation rules, applied to the results of every live query, with a real database. */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { erase } from '../../../src/app/erasure/erase.ts';
import { createCleanupStack } from '../../../src/core/cleanup-stack.ts';
import type { RetrievedDocument } from '../../../src/core/model.ts';
import { createLiveIngest } from '../../../src/live/live-ingest.ts';
import { userIdHmac } from '../../../src/live/privacy/rules/redactor.ts';
import type { LiveQuery } from '../../../src/live/rules/live-query.ts';
import { createIsolation } from '../../../src/live/sql/isolation-rows.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { aLiveQuery, documents, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const database = useDatabase();
const KEY = 'a key of at least sixteen bytes';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
let traffic: LiveTraffic;

const config = parseConfig(
  `pipelines:
     - name: docs
       retriever: {kind: http, url: "http://127.0.0.1:9/"}
       sampling: {rate: 0, always_keep: []}
       isolation:
         - {name: tenants, segment: tenant, allow: ["{{tenant}}/*", "public/*"]}
         - {name: regions, segment: region, field: region, allow: ["{{region}}", global]}`,
  'recalld.yaml',
  {},
  () => '',
);

beforeAll(async () => {
  traffic = createLiveTraffic(database.pool, 'a');
  for (const days of [-1, 0, 1]) await traffic.createPartitions(new Date(NOON.getTime() + days * DAY));
});
beforeEach(async () => {
  await database.pool.query(
    'truncate isolation_violations, isolation_counts, live_queries, live_query_counts, feedback, erased_subjects, trace_fragments',
  );
});

async function openIngest(clock = new SteerableClock(NOON)) {
  const meter = new MemoryMeter();
  const reported: string[] = [];
  const cleanups = createCleanupStack(silentLogger);
  onTestFinished(() => cleanups.run());
  const { ingestQueries } = await createLiveIngest(
    contextOf({
      config,
      db: { live: { traffic } },
      clock,
      meter,
      logger: silentLogger,
      hashKey: KEY,
      hooks: { reportViolations: (pipelines) => void reported.push(...pipelines) },
    }),
    cleanups,
  );
  const total = (metric: string, of: Readonly<Record<string, string>>) =>
    meter.increments
      .filter(
        ({ name, labels }) => name === metric && Object.entries(of).every(([key, value]) => labels[key] === value),
      )
      .reduce((sum, { value }) => sum + value, 0);
  const violations = (rule: string) => total('recalld_live_isolation_violations_total', { rule });
  const unchecked = (rule: string, reason: string) => total('recalld_live_isolation_unchecked_total', { rule, reason });
  return { ingestQueries, reported, violations, unchecked, clock };
}

const acme = (id: string, results: readonly RetrievedDocument[], parts: Partial<LiveQuery> = {}): LiveQuery =>
  aLiveQuery({ id, segments: { tenant: 'acme' }, results, ...parts });

const lastHour = { from: new Date(NOON.getTime() - HOUR), until: NOON };
const isolation = () => createIsolation(database.pool);

describe('a live answer with a document of another tenant', () => {
  it('is stored without its text, although the query is not sampled, and reported', async () => {
    const { ingestQueries, reported, violations } = await openIngest();
    const report = await ingestQueries([acme('q1', documents('acme/1', 'beta/7', 'beta/8'), { userId: 'ann' })]);
    expect(report).toMatchObject({ accepted: 1, sampled: 0 });
    expect(await isolation().list({ limit: 10 })).toEqual([
      {
        number: expect.any(String) as string,
        pipeline: 'docs',
        rule: 'tenants',
        queryId: 'q1',
        receivedAt: NOON,
        occurredAt: NOON,
        segment: 'acme',
        documents: [
          { id: 'beta/7', rank: 2 },
          { id: 'beta/8', rank: 3 },
        ],
        documentCount: 2,
      },
    ]);
    expect(reported).toEqual(['docs']);
    expect(violations('tenants')).toBe(1);
    const { rows } = await database.pool.query('select to_jsonb(v)::text as row from isolation_violations v');
    expect(JSON.stringify(rows)).not.toMatch(/what is it|ann/);
  });

  it('is stored and counted once, however often the service sends it again', async () => {
    const { ingestQueries, violations, reported } = await openIngest();
    const query = acme('q1', documents('beta/7'));
    await ingestQueries([query, query]);
    await Promise.all(Array.from({ length: 5 }, () => ingestQueries([query])));
    const nextDay = await openIngest(new SteerableClock(new Date(NOON.getTime() + 13 * HOUR)));
    await nextDay.ingestQueries([query]);
    expect(await isolation().list({ limit: 10 })).toHaveLength(1);
    expect(violations('tenants')).toBe(1);
    expect(reported).toEqual(['docs']);
    expect(nextDay.violations('tenants')).toBe(0);
  });

  it('is found in a batch of clean answers, which are only counted', async () => {
    const { ingestQueries, violations } = await openIngest();
    const batch = Array.from({ length: 500 }, (_, index) =>
      acme(`q${index}`, documents('acme/1', index === 250 ? 'beta/7' : 'public/2')),
    );
    await ingestQueries(batch);
    expect((await isolation().list({ limit: 10 })).map(({ queryId }) => queryId)).toEqual(['q250']);
    expect(violations('tenants')).toBe(1);
    const [, tenants] = await isolation().summaries(lastHour);
    expect(tenants).toMatchObject({ rule: 'tenants', allowed: 499, violated: 1, lastViolationAt: NOON });
  });
});

describe('an answer that a rule cannot check', () => {
  it('is counted by its reason, and never as a violation', async () => {
    const { ingestQueries, violations, unchecked } = await openIngest();
    await ingestQueries([
      aLiveQuery({ id: 'no tenant', results: documents('beta/1') }),
      aLiveQuery({ id: 'empty tenant', segments: { tenant: '' }, results: documents('/1') }),
      acme('no id', [{ id: 'unidentified:x#1', score: null }]),
      acme('no field', documents('acme/1'), { segments: { tenant: 'acme', region: 'eu' } }),
    ]);
    expect(await isolation().list({ limit: 10 })).toEqual([]);
    expect(violations('tenants') + violations('regions')).toBe(0);
    expect(unchecked('tenants', 'segment_missing')).toBe(2);
    expect(unchecked('tenants', 'document_unidentified')).toBe(1);
    expect(unchecked('regions', 'field_missing')).toBe(1);
    expect(await isolation().summaries(lastHour)).toMatchObject([
      { rule: 'regions', allowed: 0, unchecked: { segment_missing: 3, field_missing: 1 } },
      { rule: 'tenants', allowed: 1, unchecked: { segment_missing: 2, document_unidentified: 1 } },
    ]);
  });
});

describe('stored violations', () => {
  it('name the documents that violate each rule, by id or by field', async () => {
    const { ingestQueries } = await openIngest();
    const results = [
      { id: 'acme/1', score: 1, fields: { region: 'us' } },
      { id: 'beta/1', score: 1, fields: { region: 'eu' } },
    ];
    await ingestQueries([acme('q1', results, { segments: { tenant: 'acme', region: 'eu' } })]);
    const found = await isolation().list({ limit: 10 });
    expect(
      found
        .map(({ rule, documents: named }) => [rule, named.map(({ id }) => id)] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ).toEqual([
      ['regions', ['acme/1']],
      ['tenants', ['beta/1']],
    ]);
  });

  it('are erased with their user or their query', async () => {
    const { ingestQueries } = await openIngest();
    await ingestQueries([
      acme('q1', documents('beta/1'), { userId: 'ann' }),
      acme('q2', documents('beta/1'), { userId: 'bob' }),
      acme('q3', documents('beta/1')),
    ]);
    const by = { pool: database.pool, actor: 'test', now: NOON };
    await erase(by.pool, { kind: 'user', userHash: userIdHmac('ann', KEY) }, by.actor, by.now);
    await erase(by.pool, { kind: 'query', id: 'q3', idHash: 'hash of q3' }, by.actor, by.now);
    expect((await isolation().list({ limit: 10 })).map(({ queryId }) => queryId)).toEqual(['q2']);
  });

  it('of an erased user that arrive late are erased too', async () => {
    const { ingestQueries } = await openIngest();
    await erase(database.pool, { kind: 'user', userHash: userIdHmac('ann', KEY) }, 'test', NOON);
    await ingestQueries([
      acme('late', documents('beta/1'), { userId: 'ann', occurredAt: new Date(NOON.getTime() - 1000) }),
    ]);
    await traffic.eraseLate(['docs'], NOON);
    expect(await isolation().list({ limit: 10 })).toEqual([]);
  });

  it('are deleted after the retention period of their pipeline', async () => {
    const { ingestQueries } = await openIngest();
    await ingestQueries([acme('q1', documents('beta/1')), acme('q2', documents('acme/1'))]);
    await traffic.prune(new Map([['docs', 5]]), new Date(NOON.getTime() + 4 * DAY));
    expect(await isolation().list({ limit: 10 })).toHaveLength(1);
    await traffic.prune(new Map([['docs', 5]]), new Date(NOON.getTime() + 7 * DAY));
    expect(await isolation().list({ limit: 10 })).toEqual([]);
    expect((await database.pool.query('select from isolation_counts')).rowCount).toBe(0);
  });
});
