/** Runs LanceDB itself in this process, with temporary folders. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as lancedb from '@lancedb/lancedb';
import { Field, FixedSizeList, Float32, Schema, Utf8 } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLanceDbStore, type LanceDbPackage } from '../../../../src/connectors/stores/lancedb.ts';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import { never, type StoreService, valueOf } from '../../../contract/vector-store-bench.ts';
import { storeField } from '../../../support/connectors.ts';

async function aFolder(): Promise<StoreService> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-lancedb-'));
  const connection = await lancedb.connect(folder);
  let made = 0;
  return {
    url: folder,
    async stop() {
      connection.close();
      await rm(folder, { recursive: true });
    },
    startOutage: () => Promise.reject(new Error('there is no connection that could fail')),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const name = `recalld_test_${made}`;
      const text = (column: string) => new Field(column, new Utf8());
      const vector = new Field('vector', new FixedSizeList(dimensions, new Field('item', new Float32())));
      const schema = new Schema([text('id'), vector, text('text'), text('topic'), text('language')]);
      const table = await connection.createEmptyTable(name, schema);
      return {
        async add(documents) {
          const rows = documents.map(({ id, vector: numbers, content, fields: { topic, language } }) => ({
            id,
            vector: Array.from(numbers),
            text: content,
            topic,
            language,
          }));
          if (rows.length > 0) await table.add(rows);
        },
        async rebuild() {
          const config = lancedb.Index.ivfFlat({ distanceType: metric, numPartitions: 2 });
          await table.createIndex('vector', { config });
        },
        open: ({ url: uri, timeoutMs }) =>
          createLanceDbStore(
            { ...aTable(uri, name), content: 'text', version: 'language', metric, timeout_ms: timeoutMs },
            storeField,
          ),
        drop: () => connection.dropTable(name),
      };
    },
  };
}

const aTable = (uri: string, table: string) => ({
  kind: 'lancedb' as const,
  uri,
  storage_options: {},
  table,
  id: 'id',
  embedding: 'vector',
  metric: 'cosine' as const,
  timeout_ms: 20_000,
});

describe('LanceDB in this process', () => {
  describeVectorStore(
    {
      metrics: ['cosine', 'l2', 'dot'],
      exactSearch: true,
      seededSample: true,
      isInProcess: true,
      manyDocuments: 20_000,
    },
    aFolder,
  );
});

describe('an error from LanceDB', () => {
  let folder = '';
  const request = { vector: Float32Array.of(1, 0), k: 1, filter: {}, exact: false, withContent: false };
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'recalld-lancedb-'));
    const connection = await lancedb.connect(folder);
    const rows = [
      { id: 7, vector: [1, 0], year: 2024 },
      { id: 8, vector: [0, 1], year: 2025 },
    ];
    await connection.createTable('numbers', rows);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('names the config field and the fix', async () => {
    const { message } = (await createLanceDbStore(aTable(folder, 'none'), storeField).nearest(request, never)) as never;
    expect(message).toBe(`LanceDB has no table none in ${folder}; check pipelines[0].vector_store.table and .uri.`);
    const other = createLanceDbStore({ ...aTable(folder, 'numbers'), embedding: 'year' }, storeField);
    expect(await other.describe(never)).toMatchObject({ kind: 'unsupported' });
    const unknown = await createLanceDbStore(aTable(folder, 'numbers'), storeField).nearest(
      { ...request, filter: { topic: 'x' } },
      never,
    );
    expect(unknown).toMatchObject({
      kind: 'failed',
      code: 'request_refused',
      message: expect.stringMatching(/No field named .*topic.*check pipelines\[0\]\.vector_store\.$/) as unknown,
    });
  });

  it('names the npm package if LanceDB is not installed', async () => {
    const nowhere: string = 'recalld-has-no-such-package';
    const load = () => import(nowhere) as Promise<LanceDbPackage>;
    const store = createLanceDbStore(aTable(folder, 'numbers'), storeField, load);
    expect(await store.describe(never)).toMatchObject({
      kind: 'failed',
      code: 'package_missing',
      message: expect.stringContaining('npm install @lancedb/lancedb') as unknown,
    });
  });

  it('does not occur for numeric ids and numeric filter fields', async () => {
    const store = createLanceDbStore(aTable(folder, 'numbers'), storeField);
    const found = valueOf(await store.nearest({ ...request, filter: { year: '2025' } }, never));
    expect(found.neighbours).toMatchObject([{ id: '8', similarity: 0 }]);
    expect(valueOf(await store.existing(['7', '9', 'seven'], never))).toEqual(new Set(['7']));
    expect(valueOf(await store.existing(['seven'], never))).toEqual(new Set());
    expect(valueOf(await store.list(null, never)).ids).toEqual(['7', '8']);
    await store.close();
  });

  it('is a timeout if a call takes too long, and the abort reason if the call is aborted', async () => {
    const store = createLanceDbStore(
      { ...aTable(folder, 'numbers'), timeout_ms: 1 },
      storeField,
      () => new Promise(() => undefined),
    );
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'failed', code: 'timeout' });
    const patient = createLanceDbStore(aTable(folder, 'numbers'), storeField, () => new Promise(() => undefined));
    const reason = new Error('the run was cancelled');
    const controller = new AbortController();
    const pending = patient.nearest(request, controller.signal);
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
  });
});
