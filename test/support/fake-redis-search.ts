/** A stand-in for indexes of the Redis query engine over hashes; it compares vectors by brute force. */
import { type Resp, type RespServer, startRespServer, unknownCommand } from './fake-redis.ts';
import { type FakeIndex, type FakeRow, fakeIndex, ranked } from './fake-vector-index.ts';

const metrics = { COSINE: 'cosine', L2: 'l2', IP: 'dot' } as const;

interface Engine extends FakeIndex {
  readonly prefix: string;
  readonly distance: keyof typeof metrics;
}

export function startFakeRedisSearch(): Promise<RespServer> {
  const indexes = new Map<string, Engine>();
  const cursors = new Map<string, string[]>();
  const under = (key: string) => [...indexes.values()].find(({ prefix }) => key.startsWith(prefix));

  return startRespServer((name, args) => {
    const [first = '', ...rest] = args.map(String);
    const index = indexes.get(first);
    switch (name) {
      case 'FT.CREATE': {
        const distance = rest[rest.indexOf('DISTANCE_METRIC') + 1] as keyof typeof metrics;
        const made = fakeIndex(metrics[distance], Number(rest[rest.indexOf('DIM') + 1]));
        indexes.set(first, { ...made, distance, prefix: rest[rest.indexOf('PREFIX') + 2] ?? '' });
        return 'OK';
      }
      case 'FT.DROPINDEX':
        return indexes.delete(first) ? 'OK' : new Error('SEARCH_INDEX_NOT_FOUND Index not found');
      case 'HSET': {
        const fields = Object.fromEntries(pairs(args.slice(1)).map(([field, value]) => [String(field), value]));
        const vector = float32(fields['embedding']);
        under(first)?.rows.set(first, { key: first, vector, fields });
        return 1;
      }
      case 'HMGET': {
        const row = under(first)?.rows.get(first);
        return rest.map((field) => (row?.fields[field] as Buffer | undefined) ?? null);
      }
      case 'EXISTS':
        return Number(under(first)?.rows.has(first) === true);
      case 'FT.CURSOR':
        return page(cursors, rest[1] ?? '');
      default:
        if (!name.startsWith('FT.')) return unknownCommand(name);
    }
    if (index === undefined) return new Error('SEARCH_INDEX_NOT_FOUND Index not found');
    if (name === 'FT.INFO') return info(first, index);
    if (name === 'FT.SEARCH') return searched(index, args);
    if (name !== 'FT.AGGREGATE') return unknownCommand(name);
    const id = String(cursors.size + 1);
    cursors.set(id, [...index.rows.keys()]);
    return page(cursors, id);
  });
}

function info(name: string, index: Engine): Resp {
  const tag = (field: string) => [
    'identifier',
    field,
    'attribute',
    field,
    'type',
    'TAG',
    'SEPARATOR',
    '\u001f',
    'CASESENSITIVE',
  ];
  const vector = ['identifier', 'embedding', 'attribute', 'embedding', 'type', 'VECTOR', 'algorithm', 'FLAT'];
  const settings = ['data_type', 'FLOAT32', 'dim', index.dimensions, 'distance_metric', index.distance];
  return [
    'index_name',
    name,
    'index_options',
    [],
    'index_definition',
    ['key_type', 'HASH', 'prefixes', [index.prefix], 'default_score', '1'],
    'attributes',
    [[...vector, ...settings], tag('topic'), tag('language')],
    'num_docs',
    index.rows.size,
  ];
}

function searched(index: Engine, args: readonly Buffer[]): Resp {
  const texts = args.map(String);
  const count = Number(texts[3]);
  const params = new Map(pairs(args.slice(4, 4 + count)).map(([key, value]) => [String(key), value]));
  const [, filter = '', k = ''] =
    /^(.*)=>\[KNN (\d+) @embedding \$vector AS __recalld_distance\]$/.exec(texts[1] ?? '') ?? [];
  const vector = float32(params.get('vector'));
  if (vector.length !== index.dimensions || k === '') return new Error('Syntax error at offset 1 near vector');
  const passes = ({ fields }: FakeRow) =>
    [...filter.matchAll(/@(\w+):\{\$(\w+)\}/g)].every(
      ([, field = '', param = '']) => String(fields[field]) === String(params.get(param)),
    );
  const at = 4 + count;
  const wanted = texts.slice(at + 2, at + 2 + Number(texts[at + 1]));
  const distances = { cosine: 'cosine', l2: 'squaredL2', dot: 'dot' } as const;
  const hits = ranked(index, [...vector], passes).slice(0, Number(k));
  const rows = hits.flatMap((hit) => {
    const raw = hit[distances[index.metric]];
    const distance = index.metric === 'l2' ? raw : 1 - raw;
    const value = (field: string) =>
      field === '__recalld_distance' ? String(distance) : (hit.row.fields[field] as Buffer);
    return [hit.row.key, wanted.flatMap((field): Resp[] => [field, value(field)])];
  });
  return [hits.length, ...rows];
}

function page(cursors: Map<string, string[]>, id: string): Resp {
  const keys = cursors.get(id) ?? [];
  const rows = keys.splice(0, 1000).map((key) => ['__key', key]);
  return [[1, ...rows], keys.length === 0 ? 0 : Number(id)];
}

function pairs(list: readonly Buffer[]): [Buffer, Buffer][] {
  return Array.from({ length: list.length / 2 }, (_, place) => [
    list[2 * place] as Buffer,
    list[2 * place + 1] as Buffer,
  ]);
}

function float32(bytes: Buffer = Buffer.alloc(0)): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(place * 4));
}
