/**
 * An index of the Redis query engine over hashes or JSON documents.
 *
 * Source: content/commands/{ft.search,ft.aggregate,ft.info}.md and content/develop/ai/search-and-query/vectors in
 * github.com/redis/docs.
 */

import { parseBoundedJson } from '../../../core/text/json.ts';
import { listOf, textOf, vectorOf } from '../../../platform/outbound/json-api.ts';
import { bytesOfVector, vectorOfBytes } from '../../../platform/postgres/values.ts';
import type { StoreConfigOf } from '../config.ts';
import { createRemoteStore, rememberShape } from '../remote-store.ts';
import {
  type Attempt,
  chooseCounted,
  chunksInPortions,
  type Entry,
  failed,
  inPortions,
  knownIds,
  readSample,
  unsupported,
} from '../store-rows.ts';
import { MAX_CHUNKS } from '../vector-store.ts';
import {
  createRedisConnection,
  type RedisCommand,
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
 * A sample reads the keys of all indexed documents with an FT.AGGREGATE cursor (1,000 per call, up to 5,000,000 in
 * total), chooses among them with a seeded reservoir, and then reads the fields of each chosen key. A cursor returns
 * only indexed documents, each once, whereas SCAN iterates over the whole database and may return a key twice. An exact
 * search requires a FLAT index. The type of an indexed field determines how filters compare its values. For example, a
 * TAG field ignores case unless it is CASESENSITIVE.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createRedisSearchStore(config: StoreConfigOf<'redis_search'>, configField: string) {
  const { index, embedding, id: idField, content, version } = config;
  const connection = createRedisConnection(config, configField);

  const ask = async (name: string, args: RedisCommand['args'], purpose: string, attempt: Attempt): Promise<Reply> => {
    const command = { name, args, needs: 'the query engine (Redis 8, or Redis Stack)' };
    return (await connection.send([command], purpose, attempt))[0] ?? null;
  };

  const shapes = rememberShape('Redis', async (attempt) =>
    readIndexInfo(await ask('FT.INFO', [index], 'metadata request', attempt), embedding, configField),
  );

  /**
   * Runs a query on the index and returns the stored `fields` of each match.
   *
   * @param rest arguments for limit and order
   */
  const rowsOf = async (
    { text, params }: SearchQuery,
    fields: readonly string[],
    rest: RedisCommand['args'],
    purpose: string,
    attempt: Attempt,
  ): Promise<Row[]> => {
    const returned = ['RETURN', fields.length, ...fields, ...rest, 'DIALECT', 2];
    const args = [index, text, 'PARAMS', params.length, ...params, ...returned];
    const [, ...flat] = repliesOf(await ask('FT.SEARCH', args, purpose, attempt));
    return inPortions(flat, 2).map(([key, values]) => ({ key: replyText(key) ?? '', values: repliesOf(values) }));
  };

  /**
   * Returns a page of keys with their document ids, and the cursor for the next page. Redis deletes a cursor that is
   * not used for a minute.
   */
  const pageOfKeys = async (cursor: string | null, purpose: string, attempt: Attempt) => {
    const loaded = ['@__key', ...(idField === undefined ? [] : [`@${idField}`])];
    const paged = ['WITHCURSOR', 'COUNT', IDS_PER_CALL, 'MAXIDLE', CURSOR_IDLE_MS];
    const start = [index, '*', 'LOAD', loaded.length, ...loaded, ...paged, 'DIALECT', 2];
    const [page, next] = repliesOf(
      await (cursor === null
        ? ask('FT.AGGREGATE', start, purpose, attempt)
        : ask('FT.CURSOR', ['READ', index, cursor, 'COUNT', IDS_PER_CALL], purpose, attempt)),
    );
    const rows = repliesOf(page)
      .slice(1)
      .map(repliesOf)
      .flatMap((values): Row[] => {
        const key = replyText(valueAfter(values, '__key'));
        return key === null ? [] : [{ key, values }];
      });
    const following = replyText(next);
    return { rows, next: following === '0' ? null : following };
  };

  /**
   * Returns the stored fields of the given keys. For a key that was deleted or has expired since it was sampled,
   * returns no vector.
   */
  const storedAt = async (keys: readonly string[], info: IndexInfo, withContent: boolean, attempt: Attempt) => {
    const texts = withContent ? [content, version] : [];
    const names = [embedding, idField, ...texts].filter((name) => name !== undefined);
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
      const entry = entryOf({ key, values: named }, info);
      if (entry.id === null && entry.vector !== null) throw unexpected('search', `field ${idField} of a hit`);
      return entry;
    });
  };

  const entryOf = ({ key, values }: Row, info: IndexInfo): Entry => {
    const text = (name: string | undefined) => (name === undefined ? null : replyText(valueAfter(values, name)));
    return {
      id: idField === undefined ? withoutPrefix(key, info) : text(idField),
      vector: vectorIn(valueAfter(values, embedding), info),
      content: text(content),
      version: text(version),
    };
  };

  return createRemoteStore({
    kind: 'redis_search',
    shapes,
    placeOf: {
      score: 'distance of a hit',
      id: `field ${idField ?? 'id'} of a hit`,
      vector: `field ${embedding} of a hit`,
    },
    unexpected,
    close: connection.close,

    async search(info, request, attempt) {
      if (request.exact && !info.isFlat) {
        throw unsupported(`The index ${index} is approximate; only a FLAT index compares a query with all vectors.`);
      }
      const query = nearestQuery(info, request, bytesOfVector(request.vector));
      if (query === null) return null;
      const stored = [idField, request.withContent ? content : undefined, request.withVector ? embedding : undefined];
      const fields = [DISTANCE, ...stored].filter((name) => name !== undefined);
      const rows = await rowsOf(query, fields, ['SORTBY', DISTANCE, 'LIMIT', 0, request.k], 'search', attempt);
      return rows.map((row) => ({ ...entryOf(row, info), score: replyNumber(valueAfter(row.values, DISTANCE)) }));
    },

    async sample(request, attempt) {
      const { withContent } = request;
      const info = await shapes.fresh(attempt);
      const most = MAX_PAGES * IDS_PER_CALL;
      const because = 'from an index requires reading every key, but the index';
      const drawn = await chooseCounted(request, info.count, { most, because }, async (from: string | null) => {
        const { rows, next } = await pageOfKeys(from, 'sample', attempt);
        return { ids: rows.map(({ key }) => key), next };
      });
      return readSample(drawn, VECTORS_PER_CALL, withContent, true, (keys) =>
        storedAt(keys, info, withContent, attempt),
      );
    },

    describe: async ({ count }) => ({ count, isExactCount: true }),

    async existing(ids, attempt) {
      const possible = ids.filter((id) => id !== '');
      if (possible.length === 0) return new Set<string>();
      const info = await shapes.current(attempt);
      const purpose = 'lookup of ids';
      if (idField !== undefined) {
        const field = tagOf(info, idField);
        return knownIds(possible, VALUES_PER_CALL, IDS_PER_CALL, async (wanted, limit) => {
          const rows = await rowsOf(anyOfQuery(field, wanted), [idField], ['LIMIT', 0, limit], purpose, attempt);
          return rows.flatMap(({ values }) => replyText(valueAfter(values, idField)) ?? []);
        });
      }
      const known = new Set<string>();
      for (const portion of inPortions(possible, IDS_PER_CALL)) {
        const commands = portion.map((id) => {
          return { name: 'EXISTS', args: info.prefixes.map((prefix) => `${prefix}${id}`), needs: 'Redis' };
        });
        const replies = await connection.send(commands, purpose, attempt);
        for (const [place, id] of portion.entries()) {
          if ((replyNumber(replies[place]) ?? 0) > 0) known.add(id);
        }
      }
      return known;
    },

    async list(from, attempt) {
      const info = await shapes.current(attempt);
      const { rows, next } = await pageOfKeys(from, 'listing of ids', attempt);
      return { ids: rows.flatMap((row) => entryOf(row, info).id ?? []), next };
    },

    async chunks(ids, attempt) {
      const info = await shapes.current(attempt);
      if (idField === undefined) {
        const keys = info.prefixes.flatMap((prefix) => ids.map((id) => `${prefix}${id}`)).slice(0, MAX_CHUNKS);
        const entries = await storedAt(keys, info, true, attempt);
        return entries.filter(({ vector }) => vector !== null);
      }
      const field = tagOf(info, idField);
      const fields = [idField, content, version].filter((name) => name !== undefined);
      return chunksInPortions(ids, VALUES_PER_CALL, async (wanted, limit) => {
        const query = anyOfQuery(field, wanted);
        const rows = await rowsOf(query, fields, ['LIMIT', 0, limit], 'lookup of chunks', attempt);
        return rows.map((row) => entryOf(row, info));
      });
    },
  });
}

function tagOf({ fields }: IndexInfo, idField: string): IndexInfo['fields'][number] {
  const field = fields.find(({ attribute }) => attribute === idField);
  if (field?.type !== 'TAG') throw unsupported(`Ids can be looked up only if ${idField} is indexed as TAG.`);
  return field;
}

interface Row {
  readonly key: string;
  /** Parameter names and values, alternating. */
  readonly values: readonly Reply[];
}

function withoutPrefix(key: string, { prefixes }: IndexInfo): string {
  const [prefix = ''] = prefixes.filter((start) => key.startsWith(start)).toSorted((a, b) => b.length - a.length);
  return key.slice(prefix.length);
}

function vectorIn(reply: Reply | undefined, { keyType, dimensions }: IndexInfo): Float32Array | null {
  if (!Buffer.isBuffer(reply)) return null;
  if (keyType === 'HASH') return reply.length === dimensions * 4 ? vectorOfBytes(reply) : null;
  return vectorOf(parseBoundedJson(reply.toString('utf8')));
}

/** For one path, JSON.GET returns a list of matches; for several paths, it returns an object with one list per path. */
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
    `Redis ${purpose} failed: the response has no ${lacking}; check the Redis version.`,
  );
}
