/**
 * An index of the Redis query engine over hashes or JSON documents.
 *
 * Source: content/commands/{ft.search,ft.aggregate,ft.info}.md and content/develop/ai/search-and-query/vectors in
 * github.com/redis/docs.
 */

import { parseBoundedJson } from '../../../core/text/json.ts';
import { createReservoir } from '../../../math/stats/random.ts';
import { listOf, textOf, vectorOf } from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import { createRemoteStore, type RememberedShape, rememberShape } from '../remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  readSample,
  toChunks,
  unsupported,
} from '../store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type StoredChunk,
  type VectorStore,
} from '../vector-store.ts';
import {
  createRedisConnection,
  float32Bytes,
  float32Of,
  type RedisCommand,
  type RedisConnection,
  type Reply,
  repliesOf,
  replyNumber,
  replyText,
  valueAfter,
} from './connection.ts';
import { anyOfQuery, DISTANCE, type IndexInfo, nearestQuery, readIndexInfo, type SearchQuery } from './search-index.ts';

const IDS_PER_CALL = 1000;
const VALUES_PER_CALL = 100;
const MAX_PAGES = 5000;
const VECTORS_PER_CALL = 250;
const CURSOR_IDLE_MS = 60_000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample reads the keys of all indexed documents with an FT.AGGREGATE cursor, 1,000 per call and up to 5,000,000,
 * through a seeded reservoir, then the fields of each chosen key. A cursor returns only indexed documents, each once,
 * whereas SCAN iterates over the whole database and may return a key twice. An exact search requires a FLAT index.
 * Filters compare values by the index type of the field: a TAG field ignores case unless it is CASESENSITIVE.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createRedisSearchStore(config: StoreConfigOf<'redis_search'>, configField: string): VectorStore {
  const { index, embedding } = config;
  const connection = createRedisConnection(config, configField);
  const shapes = rememberShape('Redis', async (attempt) => {
    const reply = await ask(connection, 'FT.INFO', [index], 'description', attempt);
    return readIndexInfo(reply, embedding, configField);
  });
  const store: RedisSearch = { ...config, connection, shapes };
  return createRemoteStore({
    kind: 'redis_search',
    shapes,
    search: (info, request, attempt) => search(store, info, request, attempt),
    placeOf: {
      score: 'a distance of a hit',
      id: `field ${config.id ?? 'id'} of a hit`,
      vector: `field ${embedding} of a hit`,
    },
    unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ count }) => ({ count, isExactCount: true }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: connection.close,
  });
}

type RedisSearch = StoreConfigOf<'redis_search'> & {
  readonly connection: RedisConnection;
  readonly shapes: RememberedShape<IndexInfo>;
};

async function ask(
  connection: RedisConnection,
  name: string,
  args: RedisCommand['args'],
  purpose: string,
  attempt: Attempt,
): Promise<Reply> {
  const command = { name, args, needs: 'the query engine (Redis 8, or Redis Stack)' };
  return (await connection.send([command], purpose, attempt))[0] ?? null;
}

/** FT.SEARCH arguments in addition to the query, and the purpose of the call for messages. */
interface RowsQuery {
  readonly query: SearchQuery;
  readonly fields: readonly string[];
  /** Arguments for limit and order. */
  readonly rest: RedisCommand['args'];
  readonly purpose: string;
}

async function rowsOf(
  { connection, index }: RedisSearch,
  { query: { text, params }, fields, rest, purpose }: RowsQuery,
  attempt: Attempt,
): Promise<Row[]> {
  const returned = ['RETURN', fields.length, ...fields, ...rest, 'DIALECT', 2];
  const args = [index, text, 'PARAMS', params.length, ...params, ...returned];
  const [, ...flat] = repliesOf(await ask(connection, 'FT.SEARCH', args, purpose, attempt));
  return inPortions(flat, 2).map(([key, values]) => ({
    key: replyText(key) ?? '',
    values: repliesOf(values),
  }));
}

async function search(
  store: RedisSearch,
  info: IndexInfo,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[] | null> {
  const { index, embedding, id, content } = store;
  if (request.exact && !info.isFlat) {
    throw unsupported(`The index ${index} is approximate; only a FLAT index compares with all vectors.`);
  }
  const query = nearestQuery(info, request, float32Bytes(request.vector));
  if (query === null) return null;
  const withVector = needsVectors(info.scoreKind);
  const wanted = [DISTANCE, id, request.withContent ? content : undefined, withVector ? embedding : undefined];
  const fields = wanted.filter((name) => name !== undefined);
  const rest = ['SORTBY', DISTANCE, 'LIMIT', 0, request.k];
  const rows = await rowsOf(store, { query, fields, rest, purpose: 'search' }, attempt);
  return rows.map((row) => ({
    ...entryOf(store, row, info),
    score: replyNumber(valueAfter(row.values, DISTANCE)),
  }));
}

async function sample(store: RedisSearch, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const info = await store.shapes.fresh(attempt);
  if (info.count > MAX_PAGES * IDS_PER_CALL) {
    throw unsupported(`A uniform sample of an index must read every key, and there are too many (${info.count}).`);
  }
  const drawn = n < 1 || info.count === 0 ? [] : await walkedKeys(store, n, seed, attempt);
  return readSample(drawn, VECTORS_PER_CALL, withContent, true, (keys) =>
    storedAt(store, keys, { info, withContent }, attempt),
  );
}

async function walkedKeys(store: RedisSearch, n: number, seed: number, attempt: Attempt): Promise<string[]> {
  const reservoir = createReservoir<string>(n, seed);
  let cursor: string | null = null;
  do {
    const page: PageOfKeys = await pageOfKeys(store, cursor, 'sample', attempt);
    for (const { key } of page.rows) reservoir.offer(key);
    ({ cursor } = page);
  } while (cursor !== null);
  return reservoir.chosen();
}

type PageOfKeys = Awaited<ReturnType<typeof pageOfKeys>>;

async function pageOfKeys(
  { connection, index, id }: RedisSearch,
  cursor: string | null,
  purpose: string,
  attempt: Attempt,
) {
  const loaded = ['@__key', ...(id === undefined ? [] : [`@${id}`])];
  const paged = ['WITHCURSOR', 'COUNT', IDS_PER_CALL, 'MAXIDLE', CURSOR_IDLE_MS];
  const start = [index, '*', 'LOAD', loaded.length, ...loaded, ...paged, 'DIALECT', 2];
  const [page, next] = repliesOf(
    await (cursor === null
      ? ask(connection, 'FT.AGGREGATE', start, purpose, attempt)
      : ask(connection, 'FT.CURSOR', ['READ', index, cursor, 'COUNT', IDS_PER_CALL], purpose, attempt)),
  );
  const rows = repliesOf(page)
    .slice(1)
    .map(repliesOf)
    .flatMap((values) => {
      const key = replyText(valueAfter(values, '__key'));
      return key === null ? [] : [{ key, values }];
    });
  const following = replyText(next);
  return {
    /** Includes the document id if it is stored in a field. */
    rows,
    /** Cursor of the next page; Redis forgets it after a minute without a request. */
    cursor: following === '0' ? null : following,
  };
}

async function list(store: RedisSearch, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const info = await store.shapes.current(attempt);
  const { rows, cursor } = await pageOfKeys(store, from, 'list of ids', attempt);
  return { ids: rows.flatMap((row) => entryOf(store, row, info).id ?? []), next: cursor };
}

async function chunksOf(store: RedisSearch, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const { id: idField, content, version } = store;
  const info = await store.shapes.current(attempt);
  if (idField === undefined) {
    const keys = info.prefixes.flatMap((prefix) => ids.map((id) => `${prefix}${id}`)).slice(0, MAX_CHUNKS);
    const entries = await storedAt(store, keys, { info, withContent: true }, attempt);
    return toChunks(entries.filter(({ vector }) => vector !== null));
  }
  const field = tagOf(info, idField);
  const fields = [idField, content, version].filter((name) => name !== undefined);
  const chunks: StoredChunk[] = [];
  for (const wanted of inPortions(ids, VALUES_PER_CALL)) {
    const rest = ['LIMIT', 0, MAX_CHUNKS - chunks.length];
    const asked = { query: anyOfQuery(field, wanted), fields, rest, purpose: 'look-up of chunks' };
    if (chunks.length < MAX_CHUNKS) {
      const rows = await rowsOf(store, asked, attempt);
      chunks.push(...toChunks(rows.map((row) => entryOf(store, row, info))));
    }
  }
  return chunks;
}

function tagOf({ fields }: IndexInfo, idField: string): IndexInfo['fields'][number] {
  const field = fields.find(({ attribute }) => attribute === idField);
  if (field?.type !== 'TAG') throw unsupported(`Looking up ids requires ${idField} to be indexed as TAG.`);
  return field;
}

/**
 * Returns the stored fields of some keys. Returns no vector for a key that was deleted or has expired since it was
 * sampled.
 */
async function storedAt(
  store: RedisSearch,
  keys: readonly string[],
  { info, withContent }: { readonly info: IndexInfo; readonly withContent: boolean },
  attempt: Attempt,
): Promise<Entry[]> {
  const { embedding, id, content, version, connection } = store;
  const texts = withContent ? [content, version] : [];
  const names = [embedding, id, ...texts].filter((name) => name !== undefined);
  const places = names.map((name) => info.fields.find(({ attribute }) => attribute === name)?.identifier ?? name);
  const isJson = info.keyType === 'JSON';
  const commands = keys.map((key) => ({
    name: isJson ? 'JSON.GET' : 'HMGET',
    args: [key, ...places],
    needs: 'Redis 8, or Redis Stack',
  }));
  const replies = await connection.send(commands, 'sample', attempt);
  return keys.map((key, place) => {
    const reply = replies[place] ?? null;
    const values = isJson ? jsonValues(reply, places) : repliesOf(reply);
    const named = names.flatMap((name, at) => [Buffer.from(name), values[at] ?? null]);
    const entry = entryOf(store, { key, values: named }, info);
    if (entry.id === null && entry.vector !== null) throw unexpected('search', `field ${id} of a hit`);
    return entry;
  });
}

async function existing(store: RedisSearch, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const { id: idField } = store;
  const possible = ids.filter((id) => id !== '');
  if (possible.length === 0) return new Set<string>();
  const info = await store.shapes.current(attempt);
  if (idField === undefined) return existingKeys(store, possible, info.prefixes, attempt);
  const field = tagOf(info, idField);
  return knownIds(possible, VALUES_PER_CALL, IDS_PER_CALL, async (wanted, limit) => {
    const query = anyOfQuery(field, wanted);
    const rest = ['LIMIT', 0, limit];
    const rows = await rowsOf(store, { query, fields: [idField], rest, purpose: 'check of ids' }, attempt);
    return rows.flatMap(({ values }) => replyText(valueAfter(values, idField)) ?? []);
  });
}

async function existingKeys(
  { connection }: RedisSearch,
  ids: readonly string[],
  prefixes: readonly string[],
  attempt: Attempt,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const portion of inPortions(ids, IDS_PER_CALL)) {
    const commands = portion.map((id) => {
      return { name: 'EXISTS', args: prefixes.map((prefix) => `${prefix}${id}`), needs: 'Redis' };
    });
    const replies = await connection.send(commands, 'check of ids', attempt);
    for (const [place, id] of portion.entries()) {
      if ((replyNumber(replies[place]) ?? 0) > 0) known.add(id);
    }
  }
  return known;
}

interface Row {
  readonly key: string;
  /** Parameter names and values, alternating. */
  readonly values: readonly Reply[];
}

function entryOf({ id, embedding, content, version }: RedisSearch, { key, values }: Row, info: IndexInfo): Entry {
  return {
    id: id === undefined ? withoutPrefix(key, info) : replyText(valueAfter(values, id)),
    vector: vectorIn(valueAfter(values, embedding), info),
    content: content === undefined ? null : replyText(valueAfter(values, content)),
    version: version === undefined ? null : replyText(valueAfter(values, version)),
  };
}

function withoutPrefix(key: string, { prefixes }: IndexInfo): string {
  const [prefix = ''] = prefixes.filter((start) => key.startsWith(start)).toSorted((a, b) => b.length - a.length);
  return key.slice(prefix.length);
}

function vectorIn(reply: Reply | undefined, { keyType, dimensions }: IndexInfo): Float32Array | null {
  if (!Buffer.isBuffer(reply)) return null;
  if (keyType === 'HASH') return reply.length === dimensions * 4 ? float32Of(reply) : null;
  return vectorOf(parseBoundedJson(reply.toString('utf8')));
}

/** JSON.GET returns a list of matches for one path, and an object with such lists for several paths. */
function jsonValues(reply: Reply, paths: readonly string[]): Reply[] {
  const text = replyText(reply);
  if (text === null) return [];
  const json = parseBoundedJson(text);
  return paths.map((path) => {
    const matches = paths.length === 1 ? json : (json as Record<string, unknown>)[path];
    const value = path.startsWith('$') ? listOf(matches)[0] : matches;
    if (value === undefined) return null;
    return Buffer.from(textOf(Array.isArray(value) ? null : value) ?? JSON.stringify(value));
  });
}

function unexpected(purpose: string, lacking: string): Error {
  return failed(
    'unexpected_answer',
    `Redis ${purpose} failed: the response has no ${lacking}; check the version of Redis.`,
  );
}
