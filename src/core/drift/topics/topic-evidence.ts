/** What the queries of an uncovered topic have in common beside their words. */
import { wilsonInterval } from '../../stats/wilson.ts';

const MOST_CHUNKS = 5;
const MOST_SEGMENTS = 5;
const CONFIDENCE = 0.95;

/**
 * The chunks that came nearest to most of the queries, and their mean cosine to those.
 *
 * @param nearest ids and cosines of the best chunks of each query
 * @returns at most five, those of most queries first, of equally many the nearest
 */
export function nearestChunks(
  nearest: readonly (readonly (readonly [string, number])[])[],
): (readonly [string, number])[] {
  const found = new Map<string, { queries: number; sum: number }>();
  for (const [id, cosine] of nearest.flat()) {
    const { queries = 0, sum = 0 } = found.get(id) ?? {};
    found.set(id, { queries: queries + 1, sum: sum + cosine });
  }
  return [...found]
    .map(([id, { queries, sum }]) => ({ id, queries, mean: sum / queries }))
    .toSorted((a, b) => b.queries - a.queries || b.mean - a.mean || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_CHUNKS)
    .map(({ id, mean }) => [id, mean] as const);
}

/**
 * Examples that differ in their texts: those that were chosen, and for each whose text came before it the next typical
 * query. A query without a text counts as one of its own.
 *
 * @param chosen ids of members
 * @param members ids, the most typical first
 * @returns as many as were chosen where there are so many, the most typical first
 */
export function distinctExamples(
  chosen: readonly string[],
  members: readonly string[],
  texts: ReadonlyMap<string, string>,
): string[] {
  const examples = new Map<string, string>();
  for (const id of [...chosen, ...members]) {
    if (examples.size === chosen.length) break;
    const text = texts.get(id);
    const key = text === undefined ? `id ${id}` : `text ${text}`;
    if (!examples.has(key)) examples.set(key, id);
  }
  const kept = new Set(examples.values());
  return members.filter((id) => kept.has(id));
}

type Tags = Readonly<Record<string, string>>;

/**
 * The segments most concerned: whose share of the topic, by its lower 95 % bound (Wilson), is above their share of all
 * the traffic.
 *
 * @param topic tags of the queries of the topic
 * @param traffic tags of all queries, those of the topic among them
 * @param keys of the tags that make segments
 * @returns at most five `key=value` with their share of the topic, largest first
 */
export function concernedSegments(
  topic: readonly Tags[],
  traffic: readonly Tags[],
  keys: readonly string[],
): (readonly [string, number])[] {
  if (topic.length === 0) return [];
  const inTraffic = countSegments(traffic, keys);
  return [...countSegments(topic, keys)]
    .map(([segment, queries]) => [segment, queries / topic.length] as const)
    .filter(([segment, share]) => {
      const usual = (inTraffic.get(segment) ?? 0) / Math.max(1, traffic.length);
      return wilsonInterval(share, topic.length, CONFIDENCE).low > usual;
    })
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, MOST_SEGMENTS);
}

function countSegments(queries: readonly Tags[], keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const tags of queries) {
    for (const key of keys) {
      const value = tags[key];
      if (value !== undefined) counts.set(`${key}=${value}`, (counts.get(`${key}=${value}`) ?? 0) + 1);
    }
  }
  return counts;
}
