/** What the queries of an uncovered topic have in common beside their words. */
import { wilsonInterval } from '../../math/stats/intervals.ts';

const MAX_CHUNKS = 5;
const MAX_SEGMENTS = 5;
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
    .slice(0, MAX_CHUNKS)
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
    .slice(0, MAX_SEGMENTS);
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

// What a topic is about, in a few words that its queries have and others do not.

/** Terms of a label at most. */
const MAX_TERMS = 3;
/** A term of fewer queries than this may be chance. */
const MIN_QUERIES = 2;
/** How much a term of the background weighs against one of the topic: the prior counts as so many queries. */
const PRIOR_QUERIES = 10;
/** Below this z a term is no more the topic's than everybody's. */
const MIN_Z = 1;

/** Words that say nothing of a topic in the languages that queries are often in. */
const plainWords = new Set(
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
 * The terms that are most peculiar to the topic: by the z-score of the log-odds ratio against the background with an
 * informative Dirichlet prior (Monroe, Colaresi and Quinn 2008, "Fightin' Words"), each term counted once a query.
 * Redacted places such as [EMAIL] are no terms.
 *
 * @param topic texts of queries of the topic
 * @param background texts of other live queries; may be empty
 * @returns at most three terms, most peculiar first; none when nothing is peculiar or there are no texts
 */
export function labelTopic(topic: readonly string[], background: readonly string[]): string[] {
  const own = documentFrequencies(topic);
  const other = documentFrequencies(background);
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

/** A label that fewer of the queries have a term of is the label of a part of them. */
const MIN_COVERED = 1 / 3;

/**
 * Whether queries are of one subject by their words: at least a third of them have a term of their label. Where no text
 * is kept there is nothing to say against it.
 */
export function isOneByLabel(topic: readonly string[], label: readonly string[]): boolean {
  const covered = topic.filter((text) => {
    const terms = termsOf(text);
    return label.some((term) => terms.has(term));
  });
  return covered.length >= MIN_COVERED * topic.length;
}

function totalOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function documentFrequencies(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return counts;
}

function termsOf(text: string): Set<string> {
  const words =
    text
      .replaceAll(/\[[A-Z_]+\]/g, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  return new Set(words.filter((word) => word.length > 1 && !plainWords.has(word) && !/^\d+$/.test(word)));
}
