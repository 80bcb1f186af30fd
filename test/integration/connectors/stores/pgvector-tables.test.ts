/**
 * Tables as users create them: their types, schemas, indexes and privileges differ from those of the contract suite.
 */
import { assert, asyncProperty, float32Array } from 'fast-check';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseVector, vectorBytes } from '../../../../src/connectors/stores/pgvector/rows.ts';
import { unevenness } from '../../../../src/connectors/stores/store-tests/subject.ts';
import type { StoreDescription, VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { type PgvectorServer, startPglite } from '../../../../src/demo/rag/store.ts';
import { never, valueOf } from '../../../contract/vector-store-bench.ts';
import { openPgvector, type PgvectorConfig } from '../../../support/pgvector.ts';

let server: PgvectorServer;
let pool: Pool;
const opened: VectorStore[] = [];

beforeAll(async () => {
  server = await startPglite();
  pool = new Pool({ connectionString: server.url, max: 1 });
  await pool.query('create schema extensions; create extension vector schema extensions');
  await pool.query('set search_path to public, extensions');
});
afterEach(async () => {
  await pool.query('reset role');
  for (const store of opened.splice(0)) await store.close();
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

function open(changes: Partial<PgvectorConfig>): VectorStore {
  const store = openPgvector({ url: server.url, id: 'id', content: undefined, ...changes });
  opened.push(store);
  return store;
}

const search = {
  vector: Float32Array.of(1, 0),
  k: 3,
  filter: {},
  exact: false,
  withContent: false,
} as const;

describe('a pgvector table', () => {
  it('may be in any schema, with names that need quotes', async () => {
    await pool.query(`
      create schema "RAG data";
      create table "RAG data"."My ""Chunks""" ("Doc Id" text, "the vector" vector(2), "select" text);
      insert into "RAG data"."My ""Chunks""" values ('a', '[1,0]', 'x'), ('b', '[0,1]', 'y')`);
    const store = open({
      table: '"RAG data"."My ""Chunks"""',
      id: 'Doc Id',
      embedding: 'the vector',
      content: 'select',
    });
    expect(valueOf(await store.nearest({ ...search, withContent: true }, never)).neighbours).toMatchObject([
      { id: 'a', similarity: 1, content: 'x' },
      { id: 'b', similarity: 0, content: 'y' },
    ]);
    expect(valueOf(await store.describe(never))).toMatchObject({ count: 2, isExactCount: true });
  });

  it('returns digests that distinguish texts by their bytes, and not the texts', async () => {
    await pool.query(`
      create collation ignoring (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      create table told_apart (id text primary key, embedding vector(2), body text collate ignoring);
      insert into told_apart values ('a', '[1,0]', 'one'), ('b', '[1,1]', 'ONE'), ('c', '[0,1]', 'one'), ('d', '[-1,0]', null)`);
    const store = open({ table: 'told_apart', content: 'body' });
    const found = valueOf(await store.nearest({ ...search, k: 4, withContent: 'digest' }, never)).neighbours;
    const [a, b, c, d] = found.map(({ content }) => content);
    expect([a === b, a === c, d]).toEqual([false, true, null]);
    expect(found.map(({ content }) => content)).not.toContain('one');
  });

  it('may have halfvec vectors, numbers or UUIDs as ids, and vectors without a fixed length', async () => {
    const uuid = '0b6a1f3e-59a7-4a57-9d2f-6a1d3c9a7b11';
    await pool.query(`
      create table halves (id bigint primary key, embedding halfvec(2));
      insert into halves values (9007199254740993, '[1,0]'), (-2, '[0,1]');
      create table loose (id uuid primary key, embedding vector);
      insert into loose values ('${uuid}', '[1,0]')`);
    const halves = open({ table: 'halves' });
    const found = valueOf(await halves.nearest(search, never));
    expect(found.neighbours.map(({ id }) => id)).toEqual(['9007199254740993', '-2']);
    const ids = ['9007199254740993', '9007199254740992', '-2', '-02', 'x', '99999999999999999999', '1.5'];
    expect(valueOf(await halves.existing(ids, never))).toEqual(new Set(['9007199254740993', '-2']));
    expect(valueOf(await halves.describe(never)).traits).toMatchObject({ column: 'halfvec(2)' });

    const loose = open({ table: 'loose' });
    expect(valueOf(await loose.describe(never)).dimensions).toBe(2);
    expect(valueOf(await loose.existing([uuid, uuid.toUpperCase(), 'x'], never))).toEqual(new Set([uuid]));
    const tooLong = { ...search, vector: Float32Array.of(0.123456, 0, 0) };
    expect(await loose.nearest(tooLong, never)).toMatchObject({
      kind: 'failed',
      code: 'dimension_mismatch',
      message: expect.not.stringContaining('0.123') as unknown,
    });
    await pool.query(`insert into loose values (gen_random_uuid(), '[1,0,0]')`);
    expect(await loose.sample({ n: 5, seed: 1, withContent: false }, never)).toMatchObject({
      code: 'mixed_dimensions',
    });
  });

  it('may have rows without a vector, which are not counted, and zero vectors', async () => {
    await pool.query(`
      create table gaps (id int, embedding vector(2));
      insert into gaps values (1, '[2,0]'), (2, null), (3, '[0,0]')`);
    const store = open({ table: 'gaps' });
    expect(valueOf(await store.describe(never)).count).toBe(2);
    expect(valueOf(await store.sample({ n: 9, seed: 1, withContent: false }, never)).ids.toSorted()).toEqual([
      '1',
      '3',
    ]);
    expect(valueOf(await store.nearest(search, never))).toMatchObject({
      neighbours: [
        { id: '1', similarity: 1 },
        { id: '3', similarity: 0, score: 1 },
      ],
      isShort: true,
    });
    const nowhere = valueOf(await store.nearest({ ...search, vector: Float32Array.of(0, 0) }, never));
    expect(nowhere.neighbours.map(({ similarity }) => similarity)).toEqual([0, 0]);
  });

  it('can be filtered by columns of any type and by JSON paths', async () => {
    await pool.query(`
      create table filtered (id int, embedding vector(2), year int, draft boolean, metadata jsonb);
      insert into filtered values
        (1, '[1,0]', 2024, true, '{"course": {"name": "maths"}, "level": 3}'),
        (2, '[1,1]', 2024, false, '{"course": {"name": "physics"}, "level": 3}'),
        (3, '[0,1]', 2025, false, null)`);
    const store = open({ table: 'filtered' });
    const idsFor = async (filter: Record<string, string>): Promise<string[]> =>
      valueOf(await store.nearest({ ...search, filter }, never)).neighbours.map(({ id }) => id);
    expect(await idsFor({ year: '2024' })).toEqual(['1', '2']);
    expect(await idsFor({ draft: 'false', year: '2024' })).toEqual(['2']);
    expect(await idsFor({ 'metadata.course.name': 'maths' })).toEqual(['1']);
    expect(await idsFor({ 'metadata.level': '3', year: '2024' })).toEqual(['1', '2']);
    expect(await idsFor({ 'metadata.course.name': "maths' or true --" })).toEqual([]);
    expect(await store.nearest({ ...search, filter: { 'year" is null or "year': 'x' } }, never)).toMatchObject({
      kind: 'failed',
      code: 'not_found',
    });
  });

  it('may be a view or a partitioned table', async () => {
    await pool.query(`
      create table parts (id int, embedding vector(2), part int) partition by list (part);
      create table parts_1 partition of parts for values in (1);
      create table parts_2 partition of parts for values in (2);
      create index on parts using hnsw (embedding vector_cosine_ops);
      insert into parts select n, array[n, 1]::vector, 1 + n % 2 from generate_series(1, 200) n;
      create view some_parts as select * from parts where id <= 50`);
    for (const [table, count] of [
      ['parts', 200],
      ['some_parts', 50],
    ] as const) {
      const store = open({ table });
      expect(valueOf(await store.describe(never))).toMatchObject({ count, dimensions: 2 });
      const sample = valueOf(await store.sample({ n: 40, seed: 4, withContent: false }, never));
      expect(new Set(sample.ids).size).toBe(40);
      expect(valueOf(await store.nearest({ ...search, exact: true }, never)).neighbours[0]?.id).toBe(
        count === 200 ? '200' : '50',
      );
    }
    const { traits } = valueOf(await open({ table: 'parts' }).describe(never));
    await pool.query('reindex index parts_1_embedding_idx');
    const after = valueOf(await open({ table: 'parts' }).describe(never)).traits;
    expect({ ...after, index_files: '' }).toEqual({ ...traits, index_files: '' });
    expect(after['index_files']).not.toBe(traits['index_files']);
  });

  it('has traits that name the index for the configured distance, and its settings', async () => {
    await pool.query(`
      create table indexed (id int, embedding vector(2));
      insert into indexed select n, array[n, 1]::vector from generate_series(1, 20) n`);
    const traitsOf = async (settings: Partial<PgvectorConfig> = {}): Promise<StoreDescription['traits']> =>
      valueOf(await open({ table: 'indexed', ...settings }).describe(never)).traits;
    expect(await traitsOf()).toMatchObject({ index: 'none', index_definition: '' });
    await pool.query('create index on indexed using hnsw (embedding vector_cosine_ops) with (m = 8)');
    const before = await traitsOf();
    expect(before).toMatchObject({
      index: 'hnsw',
      index_definition: expect.stringContaining("m='8'") as unknown,
      ef_search: '40',
      iterative_scan: 'off',
    });
    expect(await traitsOf({ metric: 'l2' })).toMatchObject({ index: 'none' });
    await pool.query('insert into indexed select n, array[n, 1]::vector from generate_series(21, 40) n');
    await pool.query('vacuum analyze indexed');
    expect(await traitsOf()).toEqual(before);
    await pool.query('truncate indexed');
    expect((await traitsOf())['table']).not.toBe(before['table']);
  });
});

describe('the index trait', () => {
  it.each([
    ['none', 'an expression over the column', 'embedding vector(3)', '((embedding::halfvec(3)) halfvec_cosine_ops)'],
    [
      'none',
      'an expression over another column',
      'embedding vector(3), title vector(3)',
      '((title::halfvec(3)) halfvec_cosine_ops)',
    ],
    ['none', 'another column', 'embedding vector(3), title vector(3)', '(title vector_cosine_ops)'],
    ['none', 'some of the rows', 'embedding vector(3), lang text', `(embedding vector_cosine_ops) where lang = 'de'`],
    ['none', 'the column with another distance', 'embedding vector(3)', '(embedding vector_l2_ops)'],
    [
      'hnsw',
      'the rows that have a vector',
      'embedding vector(3)',
      '(embedding vector_cosine_ops) where embedding is not null',
    ],
    ['hnsw', 'the column', 'embedding vector(3)', '(embedding vector_cosine_ops)'],
    ['hnsw', 'a halfvec column', 'embedding halfvec(3)', '(embedding halfvec_cosine_ops)'],
  ])('is %s when the index is over %s', async (index, _, columns, over) => {
    await pool.query(`
      drop table if exists traits;
      create table traits (id text primary key, ${columns});
      insert into traits (id, embedding) select n, array[n, 1, 2]::vector from generate_series(1, 40) n;
      create index on traits using hnsw ${over}`);
    expect(valueOf(await open({ table: 'traits' }).describe(never)).traits).toMatchObject({ index });
    await pool.query('drop table traits');
  });

  it('is that of the table beneath a view', async () => {
    await pool.query(`
      create table beneath (id text, embedding vector(3));
      insert into beneath select n, array[n, 1, 2]::vector from generate_series(1, 40) n;
      create index on beneath using hnsw ((embedding::halfvec(3)) halfvec_cosine_ops);
      create view cast_view as select id, embedding::halfvec(3) as embedding from beneath;
      create view plain_view as select id, embedding from beneath`);
    const indexOf = async (table: string): Promise<unknown> =>
      valueOf(await open({ table }).describe(never)).traits['index'];
    expect([await indexOf('cast_view'), await indexOf('plain_view')]).toEqual(['hnsw', 'none']);
  });
});

describe('a table whose PostgreSQL statistics do not show its number of vectors', () => {
  /** Creates a table with 30 topics in sequence, each of 400 documents. */
  async function makeTopics(table: string): Promise<void> {
    await pool.query(`
      create table ${table} (id int, embedding vector(2));
      insert into ${table} select n, array[n / 400, 1]::vector from generate_series(0, 11999) n`);
  }

  async function topicUnevenness(table: string): Promise<number> {
    const store = open({ table });
    const perTopic: number[][] = [];
    for (let seed = 1; seed <= 10; seed += 1) {
      const counts = Array.from({ length: 30 }, () => 0);
      const { ids } = valueOf(await store.sample({ n: 300, seed, withContent: false }, never));
      expect(ids).toHaveLength(300);
      for (const id of ids) {
        const topic = Math.floor(Number(id) / 400);
        counts[topic] = (counts[topic] ?? 0) + 1;
      }
      perTopic.push(counts);
    }
    return unevenness(perTopic, 300 / 12_000);
  }

  it('is sampled uniformly if it was never analyzed', async () => {
    await makeTopics('fresh');
    expect(Math.abs(await topicUnevenness('fresh'))).toBeLessThan(4.9);
  });

  it('is sampled uniformly if most of its rows have no vector', async () => {
    await makeTopics('shrunk');
    await pool.query(`
      insert into shrunk select n, null from generate_series(12000, 99999) n;
      analyze shrunk`);
    expect(Math.abs(await topicUnevenness('shrunk'))).toBeLessThan(4.9);
  });
});

describe('a search through an approximate index', () => {
  it('returns too few documents if the filter removes what the index found, and enough if it is exact', async () => {
    await pool.query(`
      create table rare (id int, embedding vector(3), topic text);
      select setseed(0.5);
      insert into rare select n, array[random(), random(), random()]::vector, 'common'
        from generate_series(1, 3000) n;
      insert into rare select 3000 + n, array[-1, -random(), -random()]::vector, 'rare' from generate_series(1, 10) n;
      create index on rare using hnsw (embedding vector_cosine_ops);
      analyze rare`);
    // For a small table, the planner would prefer a full scan.
    await pool.query('set enable_seqscan = off; set enable_sort = off');
    try {
      const store = open({ table: 'rare' });
      const request = { ...search, vector: Float32Array.of(1, 1, 1), k: 10, filter: { topic: 'rare' } };
      expect(valueOf(await store.nearest(request, never))).toEqual({ neighbours: [], isShort: true });
      const exact = valueOf(await store.nearest({ ...request, exact: true }, never));
      expect(exact.neighbours).toHaveLength(10);
      expect(exact.isShort).toBe(false);
    } finally {
      await pool.query('reset enable_seqscan; reset enable_sort');
    }
  });
});

it('pgvector stores and returns a vector exactly, to the last bit', async () => {
  const finite = float32Array({ noNaN: true, noDefaultInfinity: true, minLength: 1 });
  await assert(
    asyncProperty(finite, async (vector) => {
      const { rows } = await pool.query('select $1::vector::text as text', [vectorBytes(vector)]);
      expect(parseVector(rows[0].text).map((value) => value + 0)).toEqual(vector.map((value) => value + 0));
    }),
  );
});

describe('a table that cannot be read', () => {
  it.each([
    [{ table: 'nowhere' }, 'table_missing', 'there is no table nowhere'],
    [{ table: 'a.b.c' }, 'table_missing', 'there is no table a.b.c'],
    [
      { table: 'plain', id: 'nr' },
      'column_missing',
      'set pipelines[0].vector_store.id to one of: id, embedding, body.',
    ],
    [{ table: 'plain', content: 'text' }, 'column_missing', 'the table plain has no column text'],
    [{ table: 'plain' }, 'unsupported_type', 'the column embedding of plain is of type real[]'],
    [{ table: 'sparse' }, 'unsupported_type', 'is of type sparsevec(5)'],
  ])('with the settings %j causes an error that states the problem or the fix', async (settings, code, problem) => {
    await pool.query(`
      create table if not exists plain (id int, embedding real[], body text);
      create table if not exists sparse (id int, embedding sparsevec(5))`);
    const store = open(settings);
    for (const outcome of [await store.describe(never), await store.nearest(search, never)]) {
      expect(outcome).toMatchObject({
        kind: 'failed',
        code,
        message: expect.stringContaining(problem) as unknown,
      });
      expect(outcome.kind === 'failed' && outcome.message).toMatch(/^pgvector (search|metadata request) failed: .*\.$/);
    }
  });

  it('because privileges are missing causes an error that names the grants, which are sufficient', async () => {
    await pool.query(`
      create role reader;
      create table guarded (id int, embedding vector(2));
      insert into guarded values (1, '[1,0]');
      grant usage on schema extensions to reader`);
    const store = open({ table: 'guarded' });
    // PGlite has one session for all clients.
    await pool.query('set role reader');
    expect(await store.nearest(search, never)).toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('GRANT SELECT ON guarded TO') as unknown,
    });
    await pool.query('reset role; grant select on guarded to reader; set role reader');
    valueOf(await store.nearest(search, never));
    valueOf(await store.nearest({ ...search, exact: true }, never));
    valueOf(await store.describe(never));
    valueOf(await store.sample({ n: 1, seed: 1, withContent: false }, never));
    valueOf(await store.existing(['1'], never));
  });

  it('is read without a restart once it has been created correctly', async () => {
    const store = open({ table: 'later' });
    expect(await store.nearest(search, never)).toMatchObject({ code: 'table_missing' });
    await pool.query(`create table later (id int, embedding vector(3)); insert into later values (1, '[1,0,0]')`);
    expect(await store.nearest(search, never)).toMatchObject({ code: 'dimension_mismatch' });
    await pool.query(`drop table later; create table later (id text, embedding vector(2))`);
    expect(valueOf(await store.nearest(search, never))).toEqual({ neighbours: [], isShort: true });
  });
});
