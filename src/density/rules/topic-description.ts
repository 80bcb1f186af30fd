import { wilsonInterval } from '../../math/stats/intervals.ts';

const MAX_CHUNKS = 5;
const MAX_SEGMENTS = 5;
const CONFIDENCE = 0.95;

/**
 * Returns at most five chunks with their mean cosine. Chunks found by the most queries come first; among chunks found
 * by equally many queries, the nearest come first.
 *
 * @param nearest ids and cosines of the nearest chunks of each query
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
    .slice(0, MAX_CHUNKS)
    .map(({ id, mean }) => [id, mean] as const);
}

/**
 * Selects examples with distinct texts, most typical first: an example that repeats a text is replaced by the next most
 * typical query, if there is one. A query without a text counts as distinct.
 *
 * @param members ids, most typical first
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
 * Segments that are overrepresented in the topic: the lower 95 % bound (Wilson) of their share of the topic is above
 * their share of all traffic, which includes the topic.
 *
 * @returns at most five segments, written `key=value`, with their share of the topic, largest first
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
    .slice(0, MAX_SEGMENTS);
}

function countSegments(queries: readonly Tags[], keys: readonly string[]): Map<string, number> {
  const segmentsOf = (tags: Tags) => keys.flatMap((key) => (tags[key] === undefined ? [] : [`${key}=${tags[key]}`]));
  return countEach(queries.flatMap(segmentsOf));
}

function countEach(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

const MAX_TERMS = 3;
/** Minimum number of the topic's queries that contain a term; a rarer term may occur by chance. */
const MIN_QUERIES = 2;
/** Weight of the prior, as a number of queries. */
const PRIOR_QUERIES = 10;
/** Minimum z-score of a term that is specific to the topic. */
const MIN_Z = 1;

const stopWords = new Set(
  `a about after all also an and any are as at be because been before being between but by can could did do does doing
  for from get had has have having he her his how i if in into is it its just like make many me more most much my no
  not of on one only or other our out over please shall she should so some such tell than that the their them then
  there these they this those to under up use using was we were what when where which while who whose why will with
  without would you your der die das den dem des ein eine einer eines und oder ist sind war wie was wer wo wann warum
  welche welcher welches mit von für auf im in zu zum zur nicht ich wir sie es le la les un une des du de et ou est
  sont que qui quoi comment pourquoi dans pour sur avec sans el los las una unos y o es son qué quién cómo cuándo por
  para con sin en al del`.split(/\s+/),
);

/**
 * Returns at most three terms that are specific to the topic, most specific first. A term's specificity is the z-score
 * of its log-odds ratio against the background, with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008,
 * "Fightin' Words"). Counts each term once per query. Redaction placeholders such as [EMAIL] are not terms. The result
 * is empty if there are no texts or if they contain no specific terms.
 */
export function labelTopic(topic: readonly string[], background: readonly string[]): string[] {
  const own = countEach(topic.flatMap(termsOf));
  const other = countEach(background.flatMap(termsOf));
  const [ownTotal, otherTotal] = [totalOf(own), totalOf(other)];
  const scored = [...own].flatMap(([term, count]) => {
    if (count < Math.min(MIN_QUERIES, topic.length)) return [];
    const elsewhere = other.get(term) ?? 0;
    const share = (count + elsewhere) / (ownTotal + otherTotal);
    const prior = PRIOR_QUERIES * share;
    const odds = (hits: number, all: number): number =>
      Math.log((hits + prior) / Math.max(all + PRIOR_QUERIES - hits - prior, 0.5));
    const variance = 1 / (count + prior) + 1 / (elsewhere + prior);
    const z = (odds(count, ownTotal) - odds(elsewhere, otherTotal)) / Math.sqrt(variance);
    return z >= MIN_Z || otherTotal === 0 ? [{ term, z, count }] : [];
  });
  return scored
    .toSorted((a, b) => b.z - a.z || b.count - a.count || (a.term < b.term ? -1 : 1))
    .slice(0, MAX_TERMS)
    .map(({ term }) => term);
}

/**
 * Minimum share of the queries that must contain a term of the label; otherwise the label describes too few queries.
 */
const MIN_COVERED = 1 / 3;

/**
 * True if the words suggest a single subject: at least a third of the queries contain a term of the label. The result
 * is also true if the texts of the queries are not stored, because there is then no evidence against a single subject.
 */
export function isOneByLabel(topic: readonly string[], label: readonly string[]): boolean {
  const covered = topic.filter((text) => {
    const terms = termsOf(text);
    return label.some((term) => terms.includes(term));
  });
  return covered.length >= MIN_COVERED * topic.length;
}

function totalOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function termsOf(text: string): string[] {
  const words =
    text
      .replaceAll(/\[[A-Z_]+\]/g, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  return [...new Set(words)].filter((word) => word.length > 1 && !stopWords.has(word) && !/^\d+$/.test(word));
}
