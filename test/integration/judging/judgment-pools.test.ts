/** Judgment pools measure whether the store contains better documents than those that users got. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { VectorStore } from '../../../src/connectors/stores/vector-store.ts';
import { startPglite } from '../../../src/demo/rag/store.ts';
import type { JudgingPlan } from '../../../src/judging/plan.ts';
import type { StoreService, TestIndex } from '../../contract/vector-store-bench.ts';
import { useDatabase } from '../../support/database.ts';
import { status, when } from '../../support/fault-server.ts';
import { chatAnswer, documentOf, JudgingWorld, judgeWithBias, promptOf } from '../../support/judging-world.ts';
import type { Outage } from '../../support/outage.ts';
import { pgvectorService } from '../../support/pgvector.ts';

/** Number of better documents that the store contains but users did not get. */
const BETTER = 3;
const SEARCHED = 8;
const QUESTION = 'question 3';
/** Vectors near the query and far from the query. */
const near = Float32Array.of(1, 0.1, 0, 0);
const far = Float32Array.of(0, 0, 0, 1);

const database = useDatabase();
let service: StoreService;
let index: TestIndex;
let outage: Outage;
let store: VectorStore;
let world: JudgingWorld;

beforeAll(async () => {
  service = await pgvectorService(await startPglite());
  index = await service.createIndex({ metric: 'cosine', dimensions: 4 });
  const fields = { topic: 'all', language: 'en' };
  const shown = [1, 2, 3].map((rank) => documentOf(QUESTION, rank));
  await index.add([
    ...shown.map(({ id, text }) => ({ id, vector: near, content: text, fields })),
    // The same text under another id adds nothing.
    { id: 'a copy', vector: near, content: shown[0]?.text ?? '', fields },
    ...Array.from({ length: BETTER }, (_, i) => ({
      id: `better ${i}`,
      vector: near,
      content: `It answers in full, ${i}: quality 3.`,
      fields,
    })),
    ...Array.from({ length: 5 }, (_, i) => ({ id: `far ${i}`, vector: far, content: `Else ${i}: quality 3.`, fields })),
  ]);
});
afterAll(async () => {
  await index.drop();
  await service.stop();
});
beforeEach(async () => {
  outage = await service.startOutage();
  store = index.open({ url: outage.url, timeoutMs: 2000, retries: 0 });
  world = await JudgingWorld.start(database.pool, searchesPool());
});
afterEach(async () => {
  await world.close();
  await store.close?.();
  await outage.close();
});

const searchesPool = (share = 1): Partial<JudgingPlan> => ({ store, pooling: { share, documents: SEARCHED } });
const asked = (count: number) => world.samples(count, { text: QUESTION, embedding: near });
const later = (minutes: number) => world.clock.set(new Date(world.clock.now().getTime() + minutes * 60_000));

/** DCG with linear gains and a log2 discount. */
const dcg = (grades: readonly number[]) => grades.reduce((sum, grade, at) => sum + grade / Math.log2(at + 2), 0);
const grades = [1, 2, 3].map((rank) => documentOf(QUESTION, rank).quality);
const ideal = (of: readonly number[]) => dcg(of.toSorted((a, b) => b - a).slice(0, grades.length));
const trueGap = dcg(grades) / ideal(grades) - dcg(grades) / ideal([...grades, 3, 3, 3]);

it('the pool gap is the nDCG lost to better documents in the store', async () => {
  expect(trueGap).toBeGreaterThan(0.05);
  await world.hourOf(asked(80));
  await world.round();
  const found = (await world.latest('live_ndcg_pool_gap'))?.newest;
  expect(found?.value).toBeCloseTo(trueGap, 12);
  expect(found?.n).toBe(await world.count("judgment_pools where state = 'graded'"));
  expect(found?.n).toBe(await world.count("judged_queries where state = 'graded'"));
  expect(found?.details).toMatchObject({ k: 3, searched: SEARCHED, graded: found?.n });
  expect(found?.ciLow).toBeLessThan(trueGap);
  expect(found?.ciHigh).toBeGreaterThan(trueGap);
  // The judge grades three returned documents, three better documents and one other document, once each.
  expect(world.judge.requests.length).toBe(3 + BETTER + SEARCHED - (3 + 1 + BETTER));
  expect((await world.latest('live_ndcg_uncorrected'))?.newest?.value).toBeCloseTo(dcg(grades) / ideal(grades), 12);
});

it('a random share of the judged queries is pooled, and weighted by its probability', async () => {
  await world.hourOf(asked(600));
  await world.round(undefined, searchesPool(0.3));
  const drawn = await world.count('judged_queries');
  const part = await world.count('judgment_pools');
  expect(part).toBeGreaterThan(0.12 * drawn);
  expect(part).toBeLessThan(0.5 * drawn);
  const { rows } = await database.pool.query<{ ratio: number }>(
    'select d.probability / j.probability as ratio from judgment_pools d join judged_queries j using (pipeline, query_id)',
  );
  for (const { ratio } of rows) expect(ratio).toBeCloseTo(0.3, 12);
  expect((await world.latest('live_ndcg_pool_gap'))?.newest?.value).toBeCloseTo(trueGap, 12);
});

it('failed queries count as queries without a gap, by their share of traffic', async () => {
  const failed = world.samples(100, { outcome: 'error', results: [], probability: 1 }).map((one, i) => ({
    ...one,
    id: `failed ${i}`,
    sessionHash: `failed session ${i}`,
    unitHash: 0.5 + i / 1000,
  }));
  await world.hourOf([...asked(80), ...failed]);
  await world.round();
  expect((await world.latest('live_ndcg_pool_gap'))?.newest?.value).toBeCloseTo((160 / 260) * trueGap, 12);
});

it('scores are published while the store is down, and the store is searched once it is back', async () => {
  await outage.refuse();
  await world.hourOf(asked(60));
  await world.round();
  expect((await world.latest('live_ndcg_uncorrected'))?.newest?.n).toBeGreaterThan(20);
  expect((await world.latest('live_ndcg_pool_gap'))?.gap?.reason).toBe('too_few_queries');
  expect(world.total('recalld_judge_failures_total', { reason: 'unreachable' })).toBe(3);
  const open = await world.count("judgment_pools where state = 'open'");
  expect(open).toBe(await world.count('judged_queries'));
  const recovered = index.open({ url: service.url, timeoutMs: 2000, retries: 0 });
  later(20);
  await world.round(undefined, { store: recovered });
  await recovered.close?.();
  expect(await world.count("judgment_pools where state = 'graded'")).toBe(open);
});

it('pools expire after a day, and are counted', async () => {
  await outage.refuse();
  await world.hourOf(asked(60));
  await world.round();
  const open = await world.count("judgment_pools where state = 'open'");
  later(25 * 60);
  await world.round();
  expect(await world.count("judgment_pools where state = 'expired'")).toBe(open);
  expect(world.total('recalld_judge_failures_total', { reason: 'expired' })).toBe(open);
});

it('other workers complete the pools of a killed worker, and do not repeat its stored grade', async () => {
  const stop = new AbortController();
  let answers = 0;
  world.judge.respondWith((request, response) => {
    answers += 1;
    if (answers === 5) stop.abort(new Error('killed'));
    else judgeWithBias(0)(request, response);
  });
  await world.hourOf(asked(60));
  await expect(world.round(stop.signal)).rejects.toThrow('killed');
  expect(await world.count('pool_judgments')).toBe(1);
  world.judge.respondWith(judgeWithBias(0));
  const before = world.judge.requests.length;
  later(20);
  await Promise.all([world.round(), world.round()]);
  expect(await world.count("judgment_pools where state = 'open'")).toBe(0);
  // Each of the two concurrent workers makes at most one call per document, and none for the stored grade.
  expect(world.judge.requests.length - before).toBeLessThanOrEqual(2 * (BETTER + 1 - 1));
  expect((await world.latest('live_ndcg_pool_gap'))?.newest?.value).toBeCloseTo(trueGap, 12);
});

it('a query is excluded and counted if the judge fails on one of its documents', async () => {
  world.judge.respondWith(
    when((request) => promptOf(request).includes('answers in full'), chatAnswer('no'), judgeWithBias(0)),
  );
  await world.hourOf(asked(60));
  await world.round();
  const gap = (await world.latest('live_ndcg_pool_gap'))?.gap;
  expect(gap?.reason).toBe('too_few_queries');
  expect(gap?.details).toMatchObject({ ungraded: await world.count('judged_queries') });
});

it('returned documents are graded before pools, within the daily budget', async () => {
  world.judge.respondWith(status(503));
  await world.hourOf(world.samples(40, { embedding: near }));
  await world.round();
  world.judge.respondWith(judgeWithBias(0));
  later(20);
  const drawn = await world.count('judged_queries');
  // Each call costs 510e-6 dollars; an upper bound on its cost is reserved before the call.
  const maxCostPerDay = 3 * drawn * 510e-6 + 0.01;
  await world.round(undefined, { maxCostPerDay });
  expect(await world.count("judged_queries where state = 'graded'")).toBe(drawn);
  expect(await world.count("judgment_pools where state = 'open'")).toBeGreaterThan(0);
  const { today } = await world.deps.db.judging.spending.spent('docs', world.clock.now());
  expect(today).toBeLessThanOrEqual(maxCostPerDay);
  later(20);
  await world.round();
  expect(await world.count("judgment_pools where state = 'graded'")).toBe(drawn);
});

it('an erasure deletes the pool of the erased query', async () => {
  await world.hourOf(asked(60));
  await world.round();
  const { rows } = await database.pool.query<{ query_id: string }>(
    'select query_id from pool_judgments join judgment_pools using (pipeline, query_id) limit 1',
  );
  const id = rows[0]?.query_id ?? '';
  await world.eraseQuery(id);
  expect(await world.count(`judgment_pools where query_id = '${id}'`)).toBe(0);
  expect(await world.count(`pool_judgments where query_id = '${id}'`)).toBe(0);
});
