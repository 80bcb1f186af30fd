/**
 * Golden queries from which one word has been removed. The results of such a query show whether the retriever ignores
 * part of the query, and whether the shorter query gets the earlier results.
 */

import type { GoldenQuery } from '../../../core/model.ts';
import { type ComparedSide, sharedQueries } from '../../../golden/rules/compare-golden-runs.ts';
import type { QueryAnswer } from '../../../golden/rules/run.ts';
import { documentOf } from '../../../golden/rules/score-run.ts';
import { rankBiasedOverlap } from '../../../math/ir/ranking.ts';
import { answeredOf } from './changed-answers.ts';

const MAX_QUERIES = 8;
const MAX_WORDS = 6;
/** Minimum number of words per query; removing a word from a shorter query would make it a different query. */
const MIN_WORDS = 4;
/**
 * The results of a query count as changed if their rank-biased overlap with the earlier results is below this value.
 */
const CHANGED = 0.5;

interface WordRequest {
  readonly text: string;
  readonly k: number;
  readonly tags: GoldenQuery['tags'];
}

export interface ChangedQuery {
  /** Results of the good run, best first. */
  readonly before: readonly string[];
  /** Results of the bad run, best first. */
  readonly now: readonly string[];
  /** The whole query, then the query without each of the removed words in turn, then the whole query again. */
  readonly requests: readonly WordRequest[];
}

/**
 * Returns the queries whose results changed most. The removed words are spread across the query. In each part of the
 * query, the longest word is removed, because results rarely depend on short words.
 */
export function changedQueries(before: ComparedSide, now: ComparedSide): ChangedQuery[] {
  const k = Math.max(...now.settings.cutoffs);
  const [old, latest] = [answeredOf(before.answers), answeredOf(now.answers)];
  return sharedQueries(before.queries, now.queries)
    .map((query) => ({ query, before: idsOf(old.get(query.id)), now: idsOf(latest.get(query.id)) }))
    .filter((one) => one.query.steps === undefined && one.before.length > 0 && one.now.length > 0)
    .map((one) => ({ ...one, overlap: rankBiasedOverlap(one.before, one.now, k) }))
    .filter(({ query, overlap }) => overlap < CHANGED && wordsOf(query).length >= MIN_WORDS)
    .toSorted((a, b) => a.overlap - b.overlap)
    .slice(0, MAX_QUERIES)
    .map(({ query, before: earlier, now: current }) => {
      const words = wordsOf(query);
      const shorter = spread(words).map((place) => words.toSpliced(place, 1).join(' '));
      const requests = [query.text, ...shorter, query.text].map((text) => ({ text, k, tags: query.tags }));
      return { before: earlier, now: current, requests };
    });
}

function idsOf(answer: QueryAnswer | undefined): string[] {
  return [...new Set((answer?.documents ?? []).map(({ id }) => id))];
}

function wordsOf({ text }: GoldenQuery): string[] {
  return text.trim().split(/\s+/);
}

/** Divides the words into parts of about equal length, and returns the position of the longest word of each part. */
function spread(words: readonly string[]): number[] {
  const count = Math.min(MAX_WORDS, words.length);
  return Array.from({ length: count }, (_, part) => {
    const [from, until] = [part, part + 1].map((bound) => Math.round((bound * words.length) / count));
    const places = [...words.keys()].slice(from, until);
    return places.reduce((best, place) => ((words[place] ?? '').length > (words[best] ?? '').length ? place : best));
  });
}

/**
 * Minimum increase in the overlap with the earlier results for the removal of a word to count as restoring these
 * results.
 */
const RESTORED = 0.3;
/** Minimum number of results; shorter lists may stay the same even if every word matters. */
const MIN_RESULTS = 5;
/** Minimum overlap of two results that count as the same. */
const SAME = 0.9;

export type WordEffects = ReturnType<typeof wordEffects>;

/**
 * Counts the queries for which removing a word had an effect, and those whose results differ from call to call. Leaves
 * out a query if the retriever did not answer all its requests.
 *
 * @param found document ids, best first, keyed by the answered requests
 * @param chunkSeparator see `RunSettings`
 */
export function wordEffects(
  queries: readonly ChangedQuery[],
  found: ReadonlyMap<WordRequest, readonly string[]>,
  chunkSeparator?: string,
) {
  const counts = {
    /** Number of queries that the retriever answered. */
    asked: 0,
    /** Number of queries whose changed results differ from call to call, including the call in the bad run. */
    varying: 0,
    /** Number of other queries that got their earlier results in at least one of two calls. */
    recovered: 0,
    /** Number of queries whose results are still changed. Only these are counted below. */
    changed: 0,
    /** Number of queries whose results stay the same if a word near the start is removed. */
    startIgnored: 0,
    /** The same for a word near the end. */
    endIgnored: 0,
    /** Number of queries that get most of their earlier results back if one of their words is removed. */
    restored: 0,
  };
  for (const { before, now, requests } of queries) {
    const lists = requests.flatMap((request) => {
      const ids = found.get(request);
      return ids === undefined ? [] : [documentsOf(ids, chunkSeparator)];
    });
    if (lists.length < requests.length) continue;
    const [whole = [], ...rest] = lists;
    const [shorter, again = []] = [rest.slice(0, -1), rest.at(-1)];
    const overlap = (one: readonly string[], other: readonly string[]): number =>
      rankBiasedOverlap(one, other, requests[0]?.k ?? 0);
    const ofWhole = overlap(before, whole);
    const changedCalls = [whole, again].filter((list) => overlap(before, list) < CHANGED);
    const isVarying = changedCalls.some((list) => overlap(now, list) < SAME);
    counts.asked += 1;
    counts.varying += Number(isVarying);
    counts.recovered += Number(!isVarying && [whole, again].some((list) => overlap(before, list) >= SAME));
    if (whole.length === 0 || ofWhole >= CHANGED) continue;
    const isSame = (list: readonly string[] = []): boolean =>
      whole.length >= MIN_RESULTS && list.join('\n') === whole.join('\n');
    counts.changed += 1;
    counts.startIgnored += Number(isSame(shorter[0]));
    counts.endIgnored += Number(isSame(shorter.at(-1)));
    counts.restored += Number(shorter.some((list) => overlap(before, list) >= ofWhole + RESTORED));
  }
  return counts;
}

function documentsOf(ids: readonly string[], separator: string | undefined): string[] {
  return [...new Set(separator === undefined ? ids : ids.map((id) => documentOf(id, separator)))];
}
