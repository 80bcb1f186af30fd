/**
 * An index of the Redis query engine over hashes or JSON documents.
 *
 * Source: content/commands/{ft.search,ft.aggregate,ft.info}.md and content/develop/ai/search-and-query/vectors of
 * github.com/redis/docs.
 */
import { listOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { parseBoundedJson } from '../../text/bounded-json.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { knownIds } from '../known-ids.ts';
import { type Hit, needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, failed, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import {
  createRedisConnection,
  type RedisCommand,
  type RedisSettings,
  type Reply,
} from '../redis/connection.ts';
import { float32Bytes, float32Of, repliesOf, replyNumber, replyText, valueAfter } from '../redis/reply.ts';
import { rememberShape } from '../remembered-shape.ts';
import { inPortions, type StoredVector, toSample } from '../sampled-vectors.ts';
import type { NearestRequest, VectorStore } from '../vector-store.ts';
import { type IndexInfo, readIndexInfo } from './index-info.ts';
import { anyOfQuery, DISTANCE, nearestQuery, type SearchQuery } from './query.ts';

export interface RedisSearchSettings {
  readonly redis: RedisSettings;
  readonly index: string;
  /** Field of the vector. */
  readonly embedding: string;
  /** Field of the document id; left out, the key without the prefix of the index. */
  readonly id?: string | undefined;
  /** Field of the text of a chunk. */
  readonly content?: string | undefined;
}

const IDS_PER_CALL = 1000;
const VALUES_PER_CALL = 100;
const MOST_PAGES = 5000;
const VECTORS_PER_CALL = 250;
const CURSOR_IDLE_MS = 60_000;

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample reads the keys of all indexed documents by a cursor of FT.AGGREGATE, 1,000 a call and up to 5,000,000,
 * through a reservoir with the seed, then the fields of each chosen one. A cursor gives each document once and
 * nothing else, whereas SCAN goes through the whole database and may give a key twice. An exact search needs an index
 * of type FLAT. A filter compares as the field is indexed: a TAG knows no case unless it is CASESENSITIVE.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createRedisSearchStore(settings: RedisSearchSettings): VectorStore {
  const { index, embedding, id: idField, content } = settings;
  const { configField } = settings.redis;
  const redis = createRedisConnection(settings.redis);
  const one = async (name: string, args: RedisCommand['args'], purpose: string, attempt: Attempt) => {
    const command = { name, args, needs: 'the query engine (Redis 8, or Redis Stack)' };
    return (await redis.send([command], purpose, attempt))[0] ?? null;
  };
  const shapes = rememberShape('Redis', async (attempt) =>
    readIndexInfo(await one('FT.INFO', [index], 'description', attempt), embedding, configField),
  );

  const rowsOf = async (
    { text, params }: SearchQuery,
    fields: readonly string[],
    rest: RedisCommand['args'],
    purpose: string,
    attempt: Attempt,
  ): Promise<Row[]> => {
    const args = [
      index,
      text,
      'PARAMS',
      params.length,
      ...params,
      'RETURN',
      fields.length,
      ...fields,
      ...rest,
    ];
    const [, ...flat] = repliesOf(await one('FT.SEARCH', [...args, 'DIALECT', 2], purpose, attempt));
    return inPortions(flat, 2).map(([key, values]) => ({
      key: replyText(key) ?? '',
      values: repliesOf(values),
    }));
  };

  const search = async (info: IndexInfo, request: NearestRequest, attempt: Attempt) => {
    if (request.exact && !info.isFlat) {
      throw unsupported(
        `The index ${index} is approximate; only an index of type FLAT compares with all vectors.`,
      );
    }
    const query = nearestQuery(info, request, float32Bytes(request.vector));
    if (query === null) return { neighbours: [], isShort: true };
    const withVector = needsVectors(info.scoreKind);
    const fields = [
      DISTANCE,
      idField,
      request.withContent ? content : undefined,
      withVector ? embedding : undefined,
    ];
    const order = ['SORTBY', DISTANCE, 'LIMIT', 0, request.k];
    const wanted = fields.filter((name) => name !== undefined);
    const hits = (await rowsOf(query, wanted, order, 'search', attempt)).map(({ key, values }): Hit => {
      const score = replyNumber(valueAfter(values, DISTANCE));
      if (score === null) throw unexpected('search', 'a distance of a hit');
      const vector = withVector ? vectorIn(valueAfter(values, embedding), info) : null;
      const text = content === undefined ? null : replyText(valueAfter(values, content));
      return { id: idOf(key, values, info), score, vector, content: text };
    });
    const nearest = toNearest(hits, info.scoreKind, request);
    if (nearest === null) throw unexpected('search', `field ${embedding} of a hit`);
    return nearest;
  };

  const idOf = (key: string, values: readonly Reply[], { prefixes }: IndexInfo): string => {
    if (idField !== undefined) {
      const id = replyText(valueAfter(values, idField));
      if (id === null) throw unexpected('search', `field ${idField} of a hit`);
      return id;
    }
    const prefix = prefixes
      .filter((start) => key.startsWith(start))
      .toSorted((a, b) => b.length - a.length)[0];
    return key.slice((prefix ?? '').length);
  };

  const walkedKeys = async (n: number, seed: number, attempt: Attempt): Promise<string[]> => {
    const reservoir = createReservoir<string>(n, seed);
    const cursor = ['WITHCURSOR', 'COUNT', IDS_PER_CALL, 'MAXIDLE', CURSOR_IDLE_MS];
    const start = [index, '*', 'LOAD', 1, '@__key', ...cursor, 'DIALECT', 2];
    let [page, next] = repliesOf(await one('FT.AGGREGATE', start, 'sample', attempt));
    for (;;) {
      for (const row of repliesOf(page).slice(1)) {
        const key = replyText(valueAfter(repliesOf(row), '__key'));
        if (key !== null) reservoir.offer(key);
      }
      const id = replyText(next);
      if (id === null || id === '0') return reservoir.chosen();
      const read = ['READ', index, id, 'COUNT', IDS_PER_CALL];
      [page, next] = repliesOf(await one('FT.CURSOR', read, 'sample', attempt));
    }
  };

  const storedAt = async (
    keys: readonly string[],
    info: IndexInfo,
    withContent: boolean,
    attempt: Attempt,
  ): Promise<StoredVector[]> => {
    const names = [embedding, idField, withContent ? content : undefined].filter(
      (name) => name !== undefined,
    );
    const places = names.map(
      (name) => info.fields.find(({ attribute }) => attribute === name)?.identifier ?? name,
    );
    const isJson = info.keyType === 'JSON';
    const commands = keys.map((key) => ({
      name: isJson ? 'JSON.GET' : 'HMGET',
      args: [key, ...places],
      needs: 'Redis 8, or Redis Stack',
    }));
    const replies = await redis.send(commands, 'sample', attempt);
    return keys.flatMap((key, place) => {
      const reply = replies[place] ?? null;
      const values = isJson ? jsonValues(reply, places) : repliesOf(reply);
      const named = names.flatMap((name, at) => [Buffer.from(name), values[at] ?? null]);
      const vector = vectorIn(values[0], info);
      // It may have been deleted or have expired between the two calls.
      if (vector === null) return [];
      const text = withContent && content !== undefined ? replyText(valueAfter(named, content)) : null;
      return [{ id: idOf(key, named, info), vector, content: text }];
    });
  };

  return {
    kind: 'redis_search',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (info, inner) => search(info, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const info = await shapes.fresh(attempt);
        if (info.count > MOST_PAGES * IDS_PER_CALL) {
          throw unsupported(`A uniform sample of an index reads every key, and ${info.count} are too many.`);
        }
        const keys = n < 1 || info.count === 0 ? [] : await walkedKeys(n, seed, attempt);
        const stored: StoredVector[] = [];
        for (const portion of inPortions(keys, VECTORS_PER_CALL)) {
          stored.push(...(await storedAt(portion, info, withContent, attempt)));
        }
        return toSample(stored, true);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count, dimensions, metric, traits } = await shapes.fresh(attempt);
        return {
          count,
          isExactCount: true,
          dimensions,
          metric,
          traits: { ...traits, size_class: sizeClass(count) },
        };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const possible = ids.filter((id) => id !== '');
        if (possible.length === 0) return new Set<string>();
        const info = await shapes.current(attempt);
        if (idField === undefined) return existingKeys(possible, info.prefixes, attempt);
        const field = info.fields.find(({ attribute }) => attribute === idField);
        if (field?.type !== 'TAG') throw unsupported(`A look-up of ids needs an index of ${idField} as TAG.`);
        return knownIds(possible, VALUES_PER_CALL, IDS_PER_CALL, async (wanted, limit) => {
          const query = anyOfQuery(field, wanted);
          const rows = await rowsOf(query, [idField], ['LIMIT', 0, limit], 'check of ids', attempt);
          return rows.flatMap(({ values }) => replyText(valueAfter(values, idField)) ?? []);
        });
      }),

    close: async () => redis.close(),
  };

  async function existingKeys(ids: readonly string[], prefixes: readonly string[], attempt: Attempt) {
    const known = new Set<string>();
    for (const portion of inPortions(ids, IDS_PER_CALL)) {
      const commands = portion.map((id) => {
        return { name: 'EXISTS', args: prefixes.map((prefix) => `${prefix}${id}`), needs: 'Redis' };
      });
      const replies = await redis.send(commands, 'check of ids', attempt);
      for (const [place, id] of portion.entries()) {
        if ((replyNumber(replies[place]) ?? 0) > 0) known.add(id);
      }
    }
    return known;
  }
}

interface Row {
  readonly key: string;
  /** Names and values in turn. */
  readonly values: readonly Reply[];
}

function vectorIn(reply: Reply | undefined, { keyType, dimensions }: IndexInfo): Float32Array | null {
  if (!Buffer.isBuffer(reply)) return null;
  if (keyType === 'HASH') return reply.length === dimensions * 4 ? float32Of(reply) : null;
  return vectorOf(parseBoundedJson(reply.toString('utf8')));
}

/** JSON.GET gives a list of matches for one path, and an object of such lists for several. */
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
    `Redis ${purpose} failed: the answer lacks ${lacking}; check its version.`,
  );
}
