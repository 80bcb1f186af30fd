/**
 * Commands and replies as Redis documents them: content/commands/{vsim,vrange,vemb,vinfo,vismember,vgetattr,ft.search,
 * ft.aggregate,ft.cursor-read,ft.info,json.get}.md of github.com/redis/docs, seen on 2026-08-21. Source of the fields
 * of a vector in FT.INFO: src/info/info_command.c of github.com/RediSearch/RediSearch.
 */

import { describe, expect, it, onTestFinished } from 'vitest';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { bytesOfVector } from '../../../../src/platform/postgres/values.ts';
import { openStore } from '../../../support/connectors.ts';
import { type Resp, type RespServer, startRespServer } from '../../../support/fake-redis.ts';

const never = new AbortController().signal;
const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };

/** Responds to each command name with its replies in turn; the last reply is reused for all further commands. */
async function redisWith(replies: Readonly<Record<string, readonly Resp[]>>): Promise<RespServer> {
  const seen = new Map<string, number>();
  const server = await startRespServer((name) => {
    const turn = seen.get(name) ?? 0;
    seen.set(name, turn + 1);
    const given = replies[name];
    return given === undefined
      ? new Error(`ERR unknown command '${name}'`)
      : (given[Math.min(turn, given.length - 1)] ?? null);
  });
  onTestFinished(() => server.close());
  return server;
}

function opened(store: VectorStore): VectorStore {
  onTestFinished(() => store.close());
  return store;
}
function vectorSet({ url }: RespServer, content?: string): VectorStore {
  return opened(openStore({ kind: 'redis_vector_set', url, key: 'movies', content }));
}
function searchIndex({ url }: RespServer, changes: { id?: string; content?: string } = {}): VectorStore {
  return opened(openStore({ kind: 'redis_search', url, index: 'idx', ...changes }));
}

const setInfo = [
  'quant-type',
  'int8',
  'hnsw-m',
  16,
  'vector-dim',
  3,
  'projection-input-dim',
  0,
  'size',
  70,
  'max-level',
  2,
  'attributes-count',
  0,
  'vset-uid',
  1,
  'hnsw-max-node-uid',
  71,
];

function indexInfo({
  algorithm = 'HNSW',
  metric = 'COSINE',
  keyType = 'HASH',
  count = 3,
  dataType = 'FLOAT32',
} = {}): Resp {
  const json = keyType === 'JSON';
  const path = (name: string) => (json ? `$.${name}` : name);
  const vector = ['identifier', path('embedding'), 'attribute', 'embedding', 'type', 'VECTOR', 'algorithm', algorithm];
  return [
    'index_name',
    'idx',
    'index_options',
    [],
    'index_definition',
    ['key_type', keyType, 'prefixes', ['doc:', 'doc:old:'], 'default_score', '1'],
    'attributes',
    [
      ['identifier', path('brand'), 'attribute', 'brand', 'type', 'TAG', 'SEPARATOR', ',', 'SORTABLE'],
      ['identifier', path('price'), 'attribute', 'price', 'type', 'NUMERIC'],
      ['identifier', path('title'), 'attribute', 'title', 'type', 'TEXT', 'WEIGHT', '1'],
      [...vector, 'data_type', dataType, 'dim', 3, 'distance_metric', metric, 'M', 16, 'ef_construction', 200],
    ],
    'num_docs',
    String(count),
    'percent_indexed',
    '1',
  ];
}

describe('a vector set', () => {
  it('is searched by VSIM with the vector as bytes, and its texts are read from attributes', async () => {
    const server = await redisWith({
      VINFO: [setInfo],
      VSIM: [['apple', '0.9998867657923256', 'pear', '0.25']],
      VGETATTR: ['{"text": "Apples"}', null],
    });
    const store = vectorSet(server, 'text');
    const filter = { genre: 'action', director: 'O"Neil' };
    expect(await store.nearest({ ...request, filter, exact: true, withContent: true }, never)).toMatchObject({
      kind: 'ok',
      value: {
        neighbours: [
          { id: 'apple', score: 0.9998867657923256, scoreKind: 'shifted_cosine', content: 'Apples' },
          { id: 'pear', similarity: -0.5, content: null },
        ],
      },
    });
    const expression = `.genre == "action" and .director == 'O"Neil'`;
    expect(server.commands).toEqual([
      ['VINFO', 'movies'],
      ['VSIM', 'movies', 'FP32', expect.any(String), 'WITHSCORES', 'COUNT', '2', 'FILTER', expression, 'TRUTH'],
      ['VGETATTR', 'movies', 'apple'],
      ['VGETATTR', 'movies', 'pear'],
    ]);
  });

  it('rejects a vector of another length without a search', async () => {
    const server = await redisWith({ VINFO: [setInfo] });
    expect(await vectorSet(server).nearest({ ...request, vector: new Float32Array(4) }, never)).toMatchObject({
      code: 'dimension_mismatch',
    });
    expect(server.commands.map(([name]) => name)).toEqual(['VINFO']);
  });

  it('returns a sample of all names, read page by page', async () => {
    const page = Array.from({ length: 1000 }, (_, number) => `e${String(number).padStart(4, '0')}`);
    const server = await redisWith({
      VINFO: [setInfo],
      VRANGE: [page, ['z']],
      VEMB: [['1', '0', '0'], null],
    });
    const outcome = await vectorSet(server).sample({ n: 2, seed: 5, withContent: false }, never);
    // The second vector was removed between the two commands.
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { vectors: { rows: 1, columns: 3 }, isSeeded: true },
    });
    expect(server.commands.slice(1, 3)).toEqual([
      ['VRANGE', 'movies', '-', '+', '1000'],
      ['VRANGE', 'movies', '(e0999', '+', '1000'],
    ]);
  });

  it('of a Redis before 8.4 returns a sample of all names, read in one request', async () => {
    const server = await redisWith({
      VINFO: [setInfo],
      VCARD: [2],
      VRANDMEMBER: [['b', 'a']],
      VEMB: [['1', '0', '0']],
    });
    expect(await vectorSet(server).sample({ n: 2, seed: 5, withContent: false }, never)).toMatchObject({
      kind: 'ok',
      value: { vectors: { rows: 2, columns: 3 }, isSeeded: true },
    });
    expect(server.commands).toContainEqual(['VRANDMEMBER', 'movies', '1004']);
  });

  it('of a Redis before 8.4 with more than 200,000 names returns no sample, because reading them would block Redis', async () => {
    const server = await redisWith({ VINFO: [setInfo], VCARD: [200_001] });
    expect(await vectorSet(server).sample({ n: 2, seed: 5, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
      reason: expect.stringContaining('too many (200001)') as string,
    });
  });

  it.each([
    ['too large', ['vector-dim', 3, 'size', 5_000_001]],
    ['stored in projected form', ['vector-dim', 3, 'projection-input-dim', 300, 'size', 5]],
  ])('that is %s returns no sample', async (_, info) => {
    const store = vectorSet(await redisWith({ VINFO: [info] }));
    expect(await store.sample({ n: 2, seed: 5, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
    });
  });

  it('is described without properties that a restart or a write changes', async () => {
    const first = vectorSet(await redisWith({ VINFO: [setInfo] }));
    const later = setInfo.map((value, place) =>
      setInfo[place - 1] === 'hnsw-max-node-uid' || setInfo[place - 1] === 'vset-uid' ? 99 : value,
    );
    const second = vectorSet(await redisWith({ VINFO: [later] }));
    const described = await first.describe(never);
    expect(described).toMatchObject({
      value: {
        count: 70,
        dimensions: 3,
        metric: 'cosine',
        traits: { key: 'movies', quant_type: 'int8', hnsw_m: '16', dimensions: '3', size_class: '3' },
      },
    });
    const again = await second.describe(never);
    expect(again.kind === 'ok' && again.value.traits).toEqual(described.kind === 'ok' && described.value.traits);
  });

  it('finds its elements with VISMEMBER', async () => {
    const server = await redisWith({ VISMEMBER: [1, 0] });
    expect(await vectorSet(server).existing(['a', 'b'], never)).toMatchObject({ value: new Set(['a']) });
    expect(server.commands).toEqual([
      ['VISMEMBER', 'movies', 'a'],
      ['VISMEMBER', 'movies', 'b'],
    ]);
  });

  it('rejects filters that its filter language cannot express', async () => {
    const store = vectorSet(await redisWith({ VINFO: [setInfo] }));
    for (const filter of [{ 'a.b': 'x' }, { a: `'"` }, { a: '\\' }]) {
      expect(await store.nearest({ ...request, filter }, never)).toMatchObject({ kind: 'unsupported' });
    }
  });
});

describe('an index of the query engine', () => {
  it('is searched by KNN, with every value as a parameter', async () => {
    const rows = [1, 'doc:old:7', ['__recalld_distance', '0.25', 'title', 'Seven']];
    const server = await redisWith({ 'FT.INFO': [indexInfo()], 'FT.SEARCH': [rows] });
    const store = searchIndex(server, { content: 'title' });
    const filter = { brand: 'A, B*', price: '7' };
    expect(await store.nearest({ ...request, filter, withContent: true }, never)).toMatchObject({
      value: {
        neighbours: [{ id: '7', similarity: 0.75, score: 0.25, scoreKind: 'cosine_distance', content: 'Seven' }],
        isShort: true,
      },
    });
    expect(server.commands).toEqual([
      ['FT.INFO', 'idx'],
      [
        'FT.SEARCH',
        'idx',
        '(@brand:{$f0} @price:[$f1 $f1])=>[KNN 2 @embedding $vector AS __recalld_distance]',
        'PARAMS',
        '6',
        'vector',
        expect.any(String),
        'f0',
        'A, B*',
        'f1',
        '7',
        'RETURN',
        '2',
        '__recalld_distance',
        'title',
        'SORTBY',
        '__recalld_distance',
        'LIMIT',
        '0',
        '2',
        'DIALECT',
        '2',
      ],
    ]);
  });

  it.each([
    ['L2', 'HASH', 'squared_l2', bytesOfVector(Float32Array.of(2, 0, 1))],
    ['IP', 'JSON', 'one_minus_dot', '[2,0,1]'],
  ])('over %s of a %s computes the cosine from the vectors', async (metric, keyType, scoreKind, vector) => {
    const rows = [1, 'doc:a', ['__recalld_distance', '1.25', 'embedding', vector]];
    const server = await redisWith({ 'FT.INFO': [indexInfo({ metric, keyType })], 'FT.SEARCH': [rows] });
    expect(await searchIndex(server).nearest(request, never)).toMatchObject({
      value: { neighbours: [{ id: 'a', similarity: 1, score: 1.25, scoreKind }] },
    });
    expect(server.commands[1]).toEqual(expect.arrayContaining(['RETURN', '2', '__recalld_distance', 'embedding']));
  });

  it('can be searched exactly only if its algorithm is FLAT', async () => {
    const flat = searchIndex(await redisWith({ 'FT.INFO': [indexInfo({ algorithm: 'FLAT' })], 'FT.SEARCH': [[0]] }));
    expect(await flat.nearest({ ...request, exact: true }, never)).toMatchObject({ kind: 'ok' });
    const graph = searchIndex(await redisWith({ 'FT.INFO': [indexInfo()] }));
    expect(await graph.nearest({ ...request, exact: true }, never)).toMatchObject({ kind: 'unsupported' });
  });

  it('finds nothing for a value that cannot be indexed, and rejects filters on text fields and unknown fields', async () => {
    const store = searchIndex(await redisWith({ 'FT.INFO': [indexInfo()] }));
    for (const filter of [{ brand: '' }, { price: 'cheap' }]) {
      expect(await store.nearest({ ...request, filter }, never)).toMatchObject({
        value: { neighbours: [], isShort: true },
      });
    }
    for (const filter of [{ title: 'x' }, { unknown: 'x' }]) {
      expect(await store.nearest({ ...request, filter }, never)).toMatchObject({ kind: 'unsupported' });
    }
  });

  it('returns a sample of all keys, read by a cursor', async () => {
    const embedding = bytesOfVector(Float32Array.of(1, 2, 3));
    const server = await redisWith({
      'FT.INFO': [indexInfo()],
      'FT.AGGREGATE': [[[1, ['__key', 'doc:a'], ['__key', 'doc:b']], 42]],
      'FT.CURSOR': [[[1, ['__key', 'doc:c']], 0]],
      HMGET: [[embedding, 'Text']],
    });
    const outcome = await searchIndex(server, { content: 'title' }).sample({ n: 9, seed: 1, withContent: true }, never);
    expect(outcome.kind === 'ok' && outcome.value.ids.toSorted()).toEqual(['a', 'b', 'c']);
    expect(outcome).toMatchObject({ value: { contents: ['Text', 'Text', 'Text'], isSeeded: true } });
    expect(server.commands.slice(1, 3)).toEqual([
      [
        'FT.AGGREGATE',
        'idx',
        '*',
        'LOAD',
        '1',
        '@__key',
        'WITHCURSOR',
        'COUNT',
        '1000',
        'MAXIDLE',
        '60000',
        'DIALECT',
        '2',
      ],
      ['FT.CURSOR', 'READ', 'idx', '42', 'COUNT', '1000'],
    ]);
    expect(server.commands[3]).toEqual(['HMGET', expect.stringMatching(/^doc:[abc]$/), 'embedding', 'title']);
  });

  it('of JSON documents returns vectors by their path, with or without an id field', async () => {
    const rows = [[1, ['__key', 'doc:a']], 0];
    const alone = await redisWith({
      'FT.INFO': [indexInfo({ keyType: 'JSON' })],
      'FT.AGGREGATE': [rows],
      'JSON.GET': ['[[1,2,3]]'],
    });
    expect(await searchIndex(alone).sample({ n: 1, seed: 1, withContent: false }, never)).toMatchObject({
      value: { ids: ['a'], vectors: { data: Float32Array.of(1, 2, 3) } },
    });
    expect(alone.commands.at(-1)).toEqual(['JSON.GET', 'doc:a', '$.embedding']);
    const both = '{"$.embedding":[[1,2,3]],"$.brand":["b-1"]}';
    const named = await redisWith({
      'FT.INFO': [indexInfo({ keyType: 'JSON' })],
      'FT.AGGREGATE': [rows],
      'JSON.GET': [both],
    });
    expect(
      await searchIndex(named, { id: 'brand' }).sample({ n: 1, seed: 1, withContent: false }, never),
    ).toMatchObject({
      value: { ids: ['b-1'] },
    });
  });

  it('is described by its schema', async () => {
    const store = searchIndex(await redisWith({ 'FT.INFO': [indexInfo({ count: 70 })] }));
    expect(await store.describe(never)).toMatchObject({
      value: {
        count: 70,
        isExactCount: true,
        dimensions: 3,
        metric: 'cosine',
        traits: { index: 'idx', algorithm: 'HNSW', metric: 'COSINE', key_type: 'HASH', size_class: '3' },
      },
    });
  });

  it('finds its documents by key under any prefix, or by a TAG', async () => {
    const server = await redisWith({ 'FT.INFO': [indexInfo()], EXISTS: [1, 0] });
    expect(await searchIndex(server).existing(['a', 'b'], never)).toMatchObject({ value: new Set(['a']) });
    expect(server.commands.slice(1)).toEqual([
      ['EXISTS', 'doc:a', 'doc:old:a'],
      ['EXISTS', 'doc:b', 'doc:old:b'],
    ]);
    // A case-insensitive TAG also matches an id that differs in case.
    const rows = [2, 'doc:1', ['brand', 'x'], 'doc:2', ['brand', 'Y']];
    const byTag = await redisWith({ 'FT.INFO': [indexInfo()], 'FT.SEARCH': [rows] });
    expect(await searchIndex(byTag, { id: 'brand' }).existing(['x', 'y'], never)).toMatchObject({
      value: new Set(['x']),
    });
    expect(byTag.commands[1]).toEqual([
      'FT.SEARCH',
      'idx',
      '@brand:{$v0 | $v1}',
      'PARAMS',
      '4',
      'v0',
      'x',
      'v1',
      'y',
      'RETURN',
      '1',
      'brand',
      'LIMIT',
      '0',
      '1000',
      'DIALECT',
      '2',
    ]);
  });

  it('is not supported for vectors of type FLOAT16', async () => {
    const store = searchIndex(await redisWith({ 'FT.INFO': [indexInfo({ dataType: 'FLOAT16' })] }));
    expect(await store.describe(never)).toMatchObject({ kind: 'unsupported' });
  });
});

describe('a rejected request to Redis', () => {
  it.each([
    ['NOAUTH Authentication required.', 'auth_failed', /check .*vector_store\.url\.$/],
    [
      "NOPERM User reader has no permissions to run the 'vinfo' command",
      'no_permission',
      /run VINFO; grant this command or \+@read/,
    ],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'wrong_type', /value of the wrong type/],
    ['MOVED 3999 10.0.0.7:6381', 'cluster', /cluster node/],
    ['LOADING Redis is loading the dataset in memory', 'busy', /try again later\.$/],
    ['ERR something with a secret argument', 'request_refused', /refused VINFO/],
  ])('with the reply "%s" has its own code', async (reply, code, message) => {
    const outcome = await vectorSet(await redisWith({ VINFO: [new Error(reply)] })).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });

  it('names the config key of an index that does not exist', async () => {
    const store = searchIndex(await redisWith({ 'FT.INFO': [new Error('idx: no such index')] }));
    expect(await store.describe(never)).toMatchObject({
      code: 'collection_missing',
      message: expect.stringMatching(/no such index; check pipelines\[0\]\.vector_store\.index\.$/) as unknown,
    });
  });
});

it('a Redis store waits longer for an exact search than for an index search', async () => {
  const server = await startRespServer((name) => (name === 'VINFO' ? setInfo : undefined));
  onTestFinished(() => server.close());
  const store = opened(openStore({ kind: 'redis_vector_set', url: server.url, timeout_ms: 100, key: 'movies' }));
  for (const [exact, limit] of [
    [false, 100],
    [true, 3000],
  ] as const) {
    expect(await store.nearest({ ...request, exact }, never)).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining(`did not respond within ${limit} ms`) as unknown,
    });
  }
});
