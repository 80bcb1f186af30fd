/**
 * A vector set of Redis 8.
 *
 * Source: content/commands/{vsim,vrange,vemb,vinfo,vismember,vgetattr}.md of github.com/redis/docs, and
 * modules/vector-sets of github.com/redis/redis.
 */
import { fieldAt, textOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { parseBoundedJson } from '../../text/bounded-json.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { type Hit, toNearest } from '../neighbours.ts';
import { type Attempt, failed, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import {
  createRedisConnection,
  type RedisCommand,
  type RedisSettings,
  type Reply,
} from '../redis/connection.ts';
import { float32Bytes, repliesOf, replyNumber, replyText, valueAfter } from '../redis/reply.ts';
import { rememberShape } from '../remembered-shape.ts';
import { inPortions, type StoredVector, toSample } from '../sampled-vectors.ts';
import type { NearestRequest, VectorStore } from '../vector-store.ts';

export interface RedisVectorSetSettings {
  readonly redis: RedisSettings;
  /** Key of the vector set. */
  readonly key: string;
  /** Attribute of the text of a chunk. */
  readonly content?: string | undefined;
}

interface SetShape {
  readonly dimensions: number | null;
  readonly count: number;
  /** Vectors are kept under a random projection to fewer numbers. */
  readonly isProjected: boolean;
  readonly traits: Readonly<Record<string, string>>;
}

const IDS_PER_CALL = 1000;
const MOST_PAGES = 5000;
const VECTORS_PER_CALL = 250;

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample reads all names of elements by VRANGE, 1,000 a call and up to 5,000,000, through a reservoir with the
 * seed, then VEMB for each chosen one. VRANDMEMBER would be one call, but it walks the graph at random from its entry
 * point, so that well connected elements come more often. Vectors come back as they are kept, by default quantised
 * to 8 bits. A key without a set is an empty store, since Redis keeps no empty sets.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createRedisVectorSetStore(settings: RedisVectorSetSettings): VectorStore {
  const { key, content } = settings;
  const redis = createRedisConnection(settings.redis);
  const one = async (command: RedisCommand, purpose: string, attempt: Attempt): Promise<Reply> =>
    (await redis.send([command], purpose, attempt))[0] ?? null;
  const command = (name: string, args: RedisCommand['args'], version = '8.0'): RedisCommand => ({
    name,
    args: [key, ...args],
    needs: `Redis ${version} or later`,
  });

  const shapes = rememberShape<SetShape>('Redis', async (attempt) =>
    readShape(repliesOf(await one(command('VINFO', []), 'description', attempt))),
  );

  const contentsOf = async (ids: readonly string[], attempt: Attempt): Promise<(string | null)[]> => {
    if (content === undefined) return ids.map(() => null);
    const commands = ids.map((id) => command('VGETATTR', [id]));
    const attributes = await redis.send(commands, 'look-up of texts', attempt);
    return attributes.map((reply) => textOf(fieldAt(parsed(replyText(reply)), content)));
  };

  const search = async (request: NearestRequest, attempt: Attempt) => {
    const filter = filterExpression(request.filter);
    const args = ['FP32', float32Bytes(request.vector), 'WITHSCORES', 'COUNT', request.k];
    const options = [...(filter === null ? [] : ['FILTER', filter]), ...(request.exact ? ['TRUTH'] : [])];
    const flat = repliesOf(await one(command('VSIM', [...args, ...options]), 'search', attempt));
    const pairs = inPortions(flat, 2).map(([id, score]) => ({
      id: replyText(id),
      score: replyNumber(score),
    }));
    const contents = request.withContent
      ? await contentsOf(
          pairs.map(({ id }) => id ?? ''),
          attempt,
        )
      : [];
    const hits = pairs.map(({ id, score }, place): Hit => {
      if (id === null || score === null) {
        throw failed('unexpected_answer', 'Redis search failed: VSIM gave no pairs of element and score.');
      }
      return { id, score, vector: null, content: contents[place] ?? null };
    });
    return toNearest(hits, 'shifted_cosine', request) ?? { neighbours: [], isShort: true };
  };

  const walkedIds = async (n: number, seed: number, attempt: Attempt): Promise<string[]> => {
    const reservoir = createReservoir<string>(n, seed);
    let start: string | Buffer = '-';
    for (;;) {
      const page = repliesOf(
        await one(command('VRANGE', [start, '+', IDS_PER_CALL], '8.4'), 'sample', attempt),
      );
      for (const reply of page) reservoir.offer(replyText(reply) ?? '');
      if (page.length < IDS_PER_CALL) return reservoir.chosen();
      const last = page.at(-1);
      start = Buffer.concat([Buffer.from('('), Buffer.isBuffer(last) ? last : Buffer.alloc(0)]);
    }
  };

  return {
    kind: 'redis_vector_set',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (_, inner) => search(request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count, isProjected } = await shapes.fresh(attempt);
        if (isProjected)
          throw unsupported('This vector set keeps its vectors projected (REDUCE), not as they came.');
        if (count > MOST_PAGES * IDS_PER_CALL) {
          throw unsupported(`A uniform sample of a vector set reads every name, and ${count} are too many.`);
        }
        const ids = n < 1 || count === 0 ? [] : await walkedIds(n, seed, attempt);
        const stored: StoredVector[] = [];
        for (const portion of inPortions(ids, VECTORS_PER_CALL)) {
          const embeddings = portion.map((id) => command('VEMB', [id]));
          const vectors = await redis.send(embeddings, 'sample', attempt);
          const contents = withContent ? await contentsOf(portion, attempt) : [];
          for (const [place, id] of portion.entries()) {
            const numbers = repliesOf(vectors[place]).map((reply) => replyNumber(reply) ?? 0);
            // It may have been removed between the two calls.
            if (numbers.length === 0) continue;
            stored.push({ id, vector: Float32Array.from(numbers), content: contents[place] ?? null });
          }
        }
        return toSample(stored, true);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count, dimensions, traits } = await shapes.fresh(attempt);
        return {
          count,
          isExactCount: true,
          dimensions,
          metric: 'cosine',
          traits: { key, ...traits, size_class: sizeClass(count) },
        };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const known = new Set<string>();
        for (const portion of inPortions(ids, IDS_PER_CALL)) {
          const commands = portion.map((id) => command('VISMEMBER', [id]));
          const replies = await redis.send(commands, 'check of ids', attempt);
          for (const [place, id] of portion.entries()) if (replyNumber(replies[place]) === 1) known.add(id);
        }
        return known;
      }),

    close: async () => redis.close(),
  };
}

/** `vset-uid` and `hnsw-max-node-uid` are left out: a restart and a write change them. */
function readShape(info: readonly Reply[]): SetShape {
  const kept = replyNumber(valueAfter(info, 'vector-dim'));
  const input = replyNumber(valueAfter(info, 'projection-input-dim')) ?? 0;
  const trait = (name: string) => replyText(valueAfter(info, name)) ?? 'unknown';
  return {
    dimensions: input > 0 ? input : kept,
    count: replyNumber(valueAfter(info, 'size')) ?? 0,
    isProjected: input > 0,
    traits: {
      quant_type: trait('quant-type'),
      hnsw_m: trait('hnsw-m'),
      dimensions: kept === null ? 'unknown' : String(kept),
    },
  };
}

/**
 * `.name == "value"` for each field. A string of this language has no escapes: it ends at the next quote of its kind,
 * and a backslash stays in it.
 *
 * @throws Refused for a value that cannot be written
 */
function filterExpression(filter: NearestRequest['filter']): string | null {
  const conditions = Object.entries(filter).map(([name, value]) => {
    if (!/^\w+$/.test(name)) throw unsupported(`Filters of vector sets know no attribute named ${name}.`);
    const quote = [`"`, `'`].find((mark) => !value.includes(mark));
    if (quote === undefined || value.includes('\\')) {
      throw unsupported(
        'Filters of vector sets take no value with both kinds of quotes or with a backslash.',
      );
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
