/**
 * A Redis 8 vector set.
 *
 * Source: content/commands/{vsim,vrange,vemb,vinfo,vismember,vgetattr}.md in github.com/redis/docs, and
 * modules/vector-sets in github.com/redis/redis.
 */

import { parseBoundedJson } from '../../../core/text/json.ts';
import { textAt } from '../../../platform/outbound/json-api.ts';
import { bytesOfVector } from '../../../platform/postgres/values.ts';
import type { StoreConfigOf } from '../config.ts';
import { createRemoteStore, rememberShape } from '../remote-store.ts';
import { type Attempt, chooseCounted, failed, inPortions, Refused, readSample, unsupported } from '../store-rows.ts';
import { MAX_CHUNKS, type NearestRequest } from '../vector-store.ts';
import {
  createRedisConnection,
  type RedisCommand,
  type Reply,
  repliesOf,
  replyNumber,
  replyText,
  valueAfter,
} from './connection.ts';

const IDS_PER_CALL = 1000;
const MAX_PAGES = 5000;
const VECTORS_PER_CALL = 250;

/**
 * Maximum number of names per command. The number is limited because a command blocks all other clients: for this many
 * names, Redis takes a few tens of milliseconds.
 */
const MAX_AT_ONCE = 200_000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample reads all element names with VRANGE (1,000 per call, up to 5,000,000 in total), chooses among them with a
 * seeded reservoir, and then calls VEMB for each chosen element. Redis versions without VRANGE return all names in one
 * call, which is made only for sets of up to 200,000 elements. A single VRANDMEMBER call could return the required
 * number of elements, but VRANDMEMBER walks the graph at random from its entry point and therefore favors
 * well-connected elements. Vectors are returned as they are stored, by default quantized to 8 bits. A missing key
 * counts as an empty store, because Redis does not store empty sets.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createRedisVectorSetStore(config: StoreConfigOf<'redis_vector_set'>, configField: string) {
  const { key, content, version } = config;
  const redis = createRedisConnection(config, configField);

  const command = (name: string, args: RedisCommand['args'], since = '8.0'): RedisCommand => ({
    name,
    args: [key, ...args],
    needs: `Redis ${since} or later`,
  });

  const shapes = rememberShape('Redis', async (attempt) => {
    const [info] = await redis.send([command('VINFO', [])], 'metadata request', attempt);
    return readShape(key, repliesOf(info));
  });

  const attributesOf = async (ids: readonly string[], attempt: Attempt): Promise<unknown[]> => {
    const commands = ids.map((id) => command('VGETATTR', [id]));
    const attributes = await redis.send(commands, 'lookup of texts', attempt);
    return attributes.map((reply) => parsed(replyText(reply)));
  };

  const contentsOf = async (ids: readonly string[], attempt: Attempt): Promise<(string | null)[]> => {
    if (content === undefined) return ids.map(() => null);
    return (await attributesOf(ids, attempt)).map((attribute) => textAt(attribute, content));
  };

  const pageAfter = async (last: Buffer | null, purpose: string, attempt: Attempt) => {
    const start = last === null ? '-' : Buffer.concat([Buffer.from('('), last]);
    const asked = command('VRANGE', [start, '+', IDS_PER_CALL], '8.4');
    try {
      const names = repliesOf((await redis.send([asked], purpose, attempt))[0]);
      const end = names.length < IDS_PER_CALL ? undefined : names.at(-1);
      return { ids: textsOf(names), next: Buffer.isBuffer(end) ? end : null };
    } catch (error) {
      if (!(error instanceof Refused) || error.refusal.kind !== 'unsupported') throw error;
      return { ids: textsOf(await allNames(purpose, attempt)), next: null };
    }
  };

  /**
   * Reads all names from a Redis version without VRANGE. VRANDMEMBER does not walk the graph if more elements are
   * requested than the set has; it then returns the whole set.
   */
  const allNames = async (purpose: string, attempt: Attempt): Promise<readonly Reply[]> => {
    const [card] = await redis.send([command('VCARD', [])], purpose, attempt);
    const count = replyNumber(card) ?? 0;
    if (count === 0) return [];
    if (count > MAX_AT_ONCE) {
      throw unsupported(
        `Redis versions before 8.4 return all names of a vector set at once, and this set has too many (${count}); upgrade to Redis 8.4, which has VRANGE.`,
      );
    }
    // The set may have grown since its size was read.
    const [names] = await redis.send([command('VRANDMEMBER', [2 * count + 1000])], purpose, attempt);
    // Redis returns the names in random order, but the same seed must select the same elements.
    return repliesOf(names)
      .filter((name): name is Buffer => Buffer.isBuffer(name))
      .toSorted((a, b) => Buffer.compare(a, b));
  };

  const existing = async (ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> => {
    const known = new Set<string>();
    for (const portion of inPortions(ids, IDS_PER_CALL)) {
      const commands = portion.map((id) => command('VISMEMBER', [id]));
      const replies = await redis.send(commands, 'lookup of ids', attempt);
      for (const [place, id] of portion.entries()) if (replyNumber(replies[place]) === 1) known.add(id);
    }
    return known;
  };

  return createRemoteStore({
    kind: 'redis_vector_set',
    shapes,
    placeOf: { score: 'score', id: 'element', vector: 'vector' },
    unexpected: (purpose) =>
      failed('unexpected_answer', `Redis ${purpose} failed: VSIM did not return pairs of elements and scores.`),
    close: redis.close,

    async search(_, request, attempt) {
      const filter = filterExpression(request.filter);
      const args = ['FP32', bytesOfVector(request.vector), 'WITHSCORES', 'COUNT', request.k];
      const options = [...(filter === null ? [] : ['FILTER', filter]), ...(request.exact ? ['TRUTH'] : [])];
      const [reply] = await redis.send([command('VSIM', [...args, ...options])], 'search', attempt);
      const hits = inPortions(repliesOf(reply), 2).map(([id, score]) => ({
        id: replyText(id),
        score: replyNumber(score),
        vector: null,
        content: null,
      }));
      if (!request.withContent) return hits;
      const ids = hits.map(({ id }) => id ?? '');
      const contents = await contentsOf(ids, attempt);
      return hits.map((hit, place) => ({ ...hit, content: contents[place] ?? null }));
    },

    async sample(request, attempt) {
      const { withContent } = request;
      const { count, isProjected } = await shapes.fresh(attempt);
      if (isProjected) throw unsupported('This vector set stores only projections of its vectors (REDUCE).');
      const most = MAX_PAGES * IDS_PER_CALL;
      const because = 'from a vector set requires reading every name, but the set';
      const page = (from: Buffer | null) => pageAfter(from, 'sample', attempt);
      const drawn = await chooseCounted(request, count, { most, because }, page);
      return readSample(drawn, VECTORS_PER_CALL, withContent, true, async (ids) => {
        const embeddings = ids.map((id) => command('VEMB', [id]));
        const vectors = await redis.send(embeddings, 'sample', attempt);
        const contents = withContent ? await contentsOf(ids, attempt) : [];
        return ids.map((id, place) => {
          const numbers = repliesOf(vectors[place]).map((reply) => replyNumber(reply) ?? 0);
          // The element may have been removed between the two calls.
          const vector = numbers.length === 0 ? null : Float32Array.from(numbers);
          return { id, vector, content: contents[place] ?? null };
        });
      });
    },

    describe: async ({ count }) => ({ count, isExactCount: true }),

    existing,

    async list(from, attempt) {
      const last = from === null ? null : Buffer.from(from, 'base64');
      const { ids, next } = await pageAfter(last, 'listing of ids', attempt);
      return { ids, next: next?.toString('base64') ?? null };
    },

    /** Returns the chunks of documents; each element of a vector set is one document. */
    async chunks(ids, attempt) {
      const there = await existing(ids.slice(0, MAX_CHUNKS), attempt);
      const present = ids.filter((id) => there.has(id));
      const attributes = present.length === 0 ? [] : await attributesOf(present, attempt);
      return present.map((id, place) => {
        const attribute = attributes[place];
        return { id, vector: null, content: textAt(attribute, content), version: textAt(attribute, version) };
      });
    },
  });
}

function textsOf(names: readonly Reply[]): string[] {
  return names.map((name) => replyText(name) ?? '');
}

/** Omits `vset-uid` and `hnsw-max-node-uid`, because restarts and writes change them. */
function readShape(key: string, info: readonly Reply[]) {
  const kept = replyNumber(valueAfter(info, 'vector-dim'));
  const input = replyNumber(valueAfter(info, 'projection-input-dim')) ?? 0;
  const trait = (name: string) => replyText(valueAfter(info, name)) ?? 'unknown';
  return {
    dimensions: input > 0 ? input : kept,
    count: replyNumber(valueAfter(info, 'size')) ?? 0,
    /** True if vectors are stored as random projections with fewer dimensions. */
    isProjected: input > 0,
    metric: 'cosine' as const,
    scoreKind: 'shifted_cosine' as const,
    traits: {
      key,
      quant_type: trait('quant-type'),
      hnsw_m: trait('hnsw-m'),
      dimensions: kept === null ? 'unknown' : String(kept),
    },
  };
}

/**
 * Returns `.name == "value"` for each field. Strings in the filter language have no escapes: they end at the next quote
 * of their kind, and a backslash is literal.
 *
 * @throws Refused for a value that the filter language cannot express
 */
function filterExpression(filter: NearestRequest['filter']): string | null {
  const conditions = Object.entries(filter).map(([name, value]) => {
    if (!/^\w+$/.test(name)) throw unsupported(`Vector set filters do not support an attribute named ${name}.`);
    const quote = [`"`, `'`].find((mark) => !value.includes(mark));
    if (quote === undefined || value.includes('\\')) {
      throw unsupported('Vector set filters do not support values with both kinds of quotes or with a backslash.');
    }
    return `.${name} == ${quote}${value}${quote}`;
  });
  return conditions.length === 0 ? null : conditions.join(' and ');
}

function parsed(json: string | null): unknown {
  try {
    return json === null ? null : parseBoundedJson(json);
  } catch {
    return null;
  }
}
