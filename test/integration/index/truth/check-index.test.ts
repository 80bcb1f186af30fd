/** Rounds of the index check on a store with each kind of fault that the check can detect. */
import { beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../../../support/database.ts';
import { chunkOf, IndexWorld, type Line, START, textOf, vectorOf } from '../../../support/index-world.ts';

const database = useDatabase();
const HOUR_MS = 3_600_000;
const emptied = [
  'index_documents, index_manifest_lines, index_rounds, index_tallies, index_findings, index_orphan_suspects, index_arrivals',
  'latest_measurements, measurement_gaps, measurements',
].join(', ');
let world: IndexWorld;
beforeEach(async () => {
  await database.pool.query(`truncate ${emptied}`);
  world = new IndexWorld(database.pool);
  world.fill(3000);
});

/** The ids of every `step`-th document. */
const every = (step: number): Set<string> =>
  new Set(Array.from({ length: 3000 / step }, (_, place) => `doc-${place * step}`));

describe.each(['lists its ids', 'lists none'] as const)('a store that %s', (kind) => {
  const isAll = kind === 'lists its ids';
  beforeEach(() => {
    if (!isAll) world.plan = { ...world.plan, store: world.withoutList() };
  });

  it('has no findings in any round while it matches the manifest', async () => {
    for (let round = 0; round < 3; round += 1) expect(await world.round()).toBe('done');
    for (const measure of ['missing', 'not_retrievable', 'orphaned', 'superseded', 'other_model']) {
      const found = await world.value(`index_${measure}_ratio`);
      expect({ measure, value: found?.value, low: found?.ciLow }).toEqual({ measure, value: 0, low: 0 });
      expect(found?.n).toBeGreaterThan(15);
    }
    expect((await world.value('index_missing_ratio'))?.n).toBe(isAll ? 3000 : 200);
  });

  it('has its missing documents listed after one round, by segment, until they are back', async () => {
    await world.round();
    const removed = every(50);
    const whole = world.store.held;
    world.store.hold(whole.filter(({ id }) => !removed.has(id)));
    await world.round();
    const missing = await world.value('index_missing_ratio');
    expect(missing?.ciLow).toBeLessThanOrEqual(0.02);
    expect(missing?.ciHigh).toBeGreaterThanOrEqual(0.02);
    const found = await world.found('missing');
    if (isAll) {
      expect(missing).toMatchObject({ value: 0.02, n: 3000, details: { known: 60 } });
      expect(new Set(found)).toEqual(removed);
      // Every second document belongs to tenant 0, and so do all missing documents.
      expect((await world.value('index_missing_ratio', 'tenant=0'))?.value).toBe(0.04);
      expect((await world.value('index_missing_ratio', 'tenant=1'))?.value).toBe(0);
    } else {
      expect(missing?.n).toBe(1000);
      for (const id of found) expect(removed).toContain(id);
    }
    world.store.hold(whole);
    await world.round();
    expect(await world.found('missing')).toEqual([]);
  });

  it('has its orphans listed, but not new or recently deleted documents', async () => {
    await world.round();
    const withdrawn = every(20);
    world.lines = world.lines.filter(({ id }) => !withdrawn.has(id));
    await world.round();
    expect((await world.value('index_orphaned_ratio'))?.value).toBe(0);
    // The store contains this document immediately; recalld learns that the manifest lists it only in the next round.
    world.store.hold([...world.store.held, chunkOf('new')]);
    world.lines.push({ id: 'new', hash: 'v1', updated_at: START.toISOString() });
    await world.round(2 * HOUR_MS);
    const orphaned = await world.value('index_orphaned_ratio');
    expect(orphaned?.ciLow).toBeLessThanOrEqual(150 / 3001);
    expect(orphaned?.ciHigh).toBeGreaterThanOrEqual(150 / 3001);
    expect(orphaned?.value).toBeGreaterThan(0);
    const found = await world.found('orphaned');
    for (const id of found) expect(withdrawn).toContain(id);
    if (isAll) {
      expect(found).toHaveLength(150);
      // Every second document belongs to tenant 0, and so do all withdrawn documents.
      expect(await world.value('index_orphaned_ratio', 'tenant=0')).toMatchObject({ value: 0.1, n: 1500 });
      expect(await world.value('index_orphaned_ratio', 'tenant=1')).toMatchObject({ value: 0, n: 1500 });
    }
    world.store.hold(world.store.held.filter(({ id }) => !withdrawn.has(id)));
    await world.round(2 * HOUR_MS);
    expect(await world.found('orphaned')).toEqual([]);
  });
});

it('the index check lists documents with old and new chunks, by version, or by text without versions', async () => {
  const doubled = every(10);
  const old = [...doubled].map((id) => chunkOf(id, { version: 'v0', content: `Before. ${textOf(id)}` }));
  world.store.hold([...world.store.held, ...old]);
  await world.round();
  const superseded = await world.value('index_superseded_ratio');
  expect(superseded?.n).toBe(1000);
  expect(superseded?.ciLow).toBeLessThan(0.1);
  expect(superseded?.ciHigh).toBeGreaterThan(0.1);
  for (const id of await world.found('superseded')) expect(doubled).toContain(id);

  const words = Array.from({ length: 60 }, (_, place) => `word${place}`).join(' ');
  world.store.hold(
    world.store.held.map(({ id, vector, version }) => ({
      id,
      vector,
      version: null,
      content: version === 'v0' ? `${words} as of old` : `${words} as of now`,
    })),
  );
  await world.round();
  const byText = await world.value('index_superseded_ratio');
  expect(byText?.ciLow).toBeLessThan(0.1);
  expect(byText?.ciHigh).toBeGreaterThan(0.1);
});

it('the index check lists documents that a search for their own text does not return', async () => {
  world.plan = {
    ...world.plan,
    retriever: {
      retrieve: async ({ text }) => ({
        kind: 'documents',
        documents: world.store.held
          .filter(({ id, content }) => content?.startsWith(text) === true && Number(id.slice(4)) % 2 === 0)
          .map(({ id }) => ({ id, score: 1 })),
        latencyMs: 1,
        attempts: 1,
      }),
    },
  };
  await world.round();
  const found = await world.value('index_not_retrievable_ratio');
  expect(found?.n).toBe(20);
  expect(found?.ciLow).toBeLessThan(0.5);
  expect(found?.ciHigh).toBeGreaterThan(0.5);
  expect((await world.found('unretrievable')).every((id) => Number(id.slice(4)) % 2 === 1)).toBe(true);
});

it('the index check measures the share of vectors of another model, and reports none soon after they are replaced', async () => {
  const other = every(5);
  world.store.hold(
    world.store.held.map((chunk) =>
      other.has(chunk.id) ? { ...chunk, vector: vectorOf(textOf(chunk.id), 7) } : chunk,
    ),
  );
  for (let hour = 0; hour < 5; hour += 1) await world.round(HOUR_MS);
  const mixed = await world.value('index_other_model_ratio');
  // The daemon checks twenty chunks per hour, and a hundred more in the hour with a finding.
  expect(mixed?.n).toBeGreaterThan(100);
  expect(mixed?.ciLow).toBeLessThan(0.2);
  expect(mixed?.ciHigh).toBeGreaterThan(0.2);
  const found = await world.found('other_model');
  expect(found.length).toBeGreaterThan(0);
  for (const id of found) expect(other).toContain(id);
  world.store.hold(world.store.held.map(({ id }) => chunkOf(id)));
  for (let hour = 0; hour < 2; hour += 1) await world.round(HOUR_MS);
  expect(await world.value('index_other_model_ratio')).toMatchObject({ value: 0 });
  expect(await world.found('other_model')).toEqual([]);
});

it('the index check reports no vector of another model after a brief embedder fault', async () => {
  let calls = 0;
  const embed = async (texts: readonly string[]) => {
    calls += 1;
    const vectors = texts.map((text) => vectorOf(text, calls <= 2 ? 7 : 0));
    return { kind: 'vectors' as const, vectors, latencyMs: 1 };
  };
  world.plan = { ...world.plan, embedder: { identity: 'two at a time', embed } };
  await world.round();
  expect(calls).toBe(4);
  expect(await world.value('index_other_model_ratio')).toMatchObject({ value: 0, n: 20 });
});

it('the index check measures how long new versions take to arrive, and counts the others as waiting', async () => {
  await world.round();
  const now = world.clock.now().toISOString();
  const renewed: Line[] = world.lines.slice(0, 100).map((line) => ({ ...line, hash: 'v2', updated_at: now }));
  const fresh: Line[] = Array.from({ length: 100 }, (_, place) => ({
    id: `new-${place}`,
    hash: 'v1',
    updated_at: now,
  }));
  world.lines = [...renewed, ...world.lines.slice(100), ...fresh];
  await world.round();
  const arrived = new Map([...renewed.slice(0, 90), ...fresh.slice(0, 90)].map(({ id, hash }) => [id, hash]));
  world.store.hold([
    ...world.store.held.map((chunk) => (arrived.has(chunk.id) ? { ...chunk, version: 'v2' } : chunk)),
    ...fresh.slice(0, 90).map(({ id }) => chunkOf(id)),
  ]);
  await world.round();
  const median = await world.value('index_lag_median_seconds');
  expect(median).toMatchObject({ value: 1800, n: 200, ciLow: 900, ciHigh: 1800 });
  await world.round(3 * HOUR_MS);
  const slowest = await world.value('index_lag_seconds');
  expect(slowest).toMatchObject({ n: 200, ciLow: null, details: { is_at_least: true, waiting: 20 } });
  expect(slowest?.value).toBe(1800 + 3 * 3600);
});

it('the index check does not wait for versions that the manifest no longer lists', async () => {
  await world.round();
  const now = world.clock.now().toISOString();
  const before = world.lines;
  world.lines = [
    ...before.slice(0, 100).map((line) => ({ ...line, hash: 'v2', updated_at: now })),
    ...before.slice(100),
    ...Array.from({ length: 100 }, (_, place) => ({ id: `new-${place}`, hash: 'v1', updated_at: now })),
  ];
  await world.round();
  await world.round(3 * HOUR_MS);
  expect(await world.value('index_lag_seconds')).toMatchObject({ n: 200, details: { waiting: 200, overdue: 200 } });
  world.lines = before;
  await world.round();
  expect(await world.value('index_lag_seconds')).toMatchObject({ n: 200, details: { waiting: 0, overdue: 0 } });
});

it('the index check rejects an empty manifest and a broken line, and reports no findings for them', async () => {
  await world.round();
  const { lines } = world;
  world.lines = [];
  await expect(world.round()).rejects.toThrow(/is empty/);
  expect((await world.latest('index_missing_ratio'))?.gap?.reason).toBe('manifest_unreadable');
  world.lines = [...lines, { id: '' }];
  await expect(world.round()).rejects.toThrow('Line 3001 of manifest has no "id"');
  world.lines = lines;
  expect(await world.round()).toBe('done');
  expect((await world.value('index_missing_ratio'))?.value).toBe(0);
});

it('the index check defers a round when the store fails or slows down, and continues the round later', async () => {
  await world.round();
  world.store.failure = 'The store is away.';
  expect(await world.round()).toBe('deferred');
  expect((await world.latest('index_orphaned_ratio'))?.gap?.reason).toBe('store_failed');
  world.store.failure = null;
  expect(await world.round()).toBe('done');
  let calls = 0;
  const slow = {
    ...world.withoutList(),
    existing: async (ids: readonly string[]) => {
      calls += 1;
      const outcome = await world.store.existing(ids);
      return { ...outcome, latencyMs: calls > 6 ? 3000 : 2 };
    },
    list: () => world.store.list(null),
  };
  world.lines = Array.from({ length: 30_000 }, (_, place) => ({
    id: `doc-${place}`,
    updated_at: '2025-03-01T00:00:00Z',
  }));
  world.store.hold(world.lines.map(({ id }) => chunkOf(id)));
  world.plan = { ...world.plan, store: { ...slow, list: (from: string | null) => world.store.list(from) } };
  expect(await world.round()).toBe('deferred');
  expect((await world.latest('index_missing_ratio'))?.gap?.reason).toBe('store_slow');
  const before = calls;
  world.plan = {
    ...world.plan,
    store: {
      ...slow,
      list: (from) => world.store.list(from),
      existing: (ids) => {
        calls += 1;
        return world.store.existing(ids);
      },
    },
  };
  expect(await world.round()).toBe('done');
  expect((await world.value('index_missing_ratio'))?.n).toBe(30_000);
  // 30 calls look up all documents, and no document is looked up twice.
  expect(before + (calls - before)).toBeLessThanOrEqual(31);
});

it('the index check restarts a listing whose cursor has expired in the store, and counts nothing twice', async () => {
  await world.round();
  let isForgotten = false;
  const listed = async (from: string | null): ReturnType<typeof world.store.list> => {
    if (from !== '2000' || isForgotten) return world.store.list(from);
    isForgotten = true;
    return { kind: 'failed', code: 'http_404', message: 'The cursor is gone.', latencyMs: 1 };
  };
  world.lines = world.lines.slice(0, 2970);
  await world.round();
  world.plan = { ...world.plan, store: { ...world.withoutList(), list: listed } };
  expect(await world.round(2 * HOUR_MS)).toBe('deferred');
  expect(await world.round()).toBe('done');
  expect(await world.value('index_orphaned_ratio')).toMatchObject({ value: 0.01, n: 3000 });
});
