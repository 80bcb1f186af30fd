/** Detects result lists that belong to another query, as returned by a cache with a wrong key. */
import { normalisedText } from '../../../golden/rules/similar-texts.ts';

/** The results that a user got for a live query, best first. */
export interface LiveList {
  readonly text: string;
  readonly documentIds: readonly string[];
}

/** Documents of one query in the earlier and the later run, best first, down to the depth that both runs requested. */
export interface Lists {
  readonly old: readonly string[];
  readonly now: readonly string[];
}

/** Minimum length of a compared list; shorter lists may match by chance. */
const MIN_DOCUMENTS = 3;

/** Lists of one golden query, with its text. */
export interface GoldenLists extends Lists {
  readonly text: string;
}

/**
 * Compares lists in order. Truncates the longer of two lists to the length of the shorter one.
 *
 * @param live results of live queries from before the fault
 */
export function foreignLists(lists: readonly GoldenLists[], live: readonly LiveList[]) {
  const compared = lists.filter(({ old, now }) => now.length >= MIN_DOCUMENTS && old.length >= MIN_DOCUMENTS);
  const lengths = [...new Set(compared.map(({ now }) => now.length))];
  const before = countLists(compared.flatMap(({ old }) => lengths.map((length) => keyOf(old.slice(0, length)))));
  const belongsToLive = liveOwners(live, lengths);
  let [foreign, usual] = [0, 0];
  for (const list of compared) {
    const own = keyOf(list.old.slice(0, list.now.length));
    const key = keyOf(list.now);
    const cut = Math.min(list.now.length, list.old.length);
    const ofItself = lengths.filter((length) => Math.min(length, list.old.length) === cut).length;
    if ((before.get(own) ?? 0) > ofItself) usual += 1;
    if (key !== own && (before.has(key) || belongsToLive(list))) foreign += 1;
  }
  return {
    /** Number of result lists that are long enough to compare. */
    compared: compared.length,
    /**
     * Number of lists that differ from the query's earlier list, but equal another query's earlier list. Excludes lists
     * that no golden or live query got before. If several queries share such a list, the list comes from a search that
     * ignores the query, not from a cache.
     */
    foreign,
    /**
     * Number of queries whose earlier list was already identical to another query's earlier list, as is normal for two
     * queries with the same meaning.
     */
    usual,
  };
}

/**
 * Returns a predicate: true for a list that is new for its golden query but was returned earlier for a live query with
 * another text.
 *
 * @param depths lengths of the golden lists to which the function is applied
 */
function liveOwners(live: readonly LiveList[], depths: readonly number[]): (list: GoldenLists) => boolean {
  const owners = new Map<string, Set<string>>();
  const lengths = new Set<number>();
  for (const { text, documentIds } of live) {
    const { length } = documentIds;
    if (length < MIN_DOCUMENTS) continue;
    lengths.add(length);
    for (const depth of depths) {
      const key = comparedKey(length, documentIds, depth);
      owners.set(key, (owners.get(key) ?? new Set()).add(normalisedText(text)));
    }
  }
  return ({ text, old, now }) =>
    [...lengths].some((length) => {
      const key = comparedKey(length, now, now.length);
      const texts = key === comparedKey(length, old, now.length) ? undefined : owners.get(key);
      return texts !== undefined && !texts.has(normalisedText(text));
    });
}

/** Returns the key by which a live list of the given length is compared with a golden list of the given depth. */
function comparedKey(length: number, ids: readonly string[], depth: number): string {
  return `${length} ${keyOf(ids.slice(0, Math.min(length, depth)))}`;
}

function keyOf(ids: readonly string[]): string {
  return JSON.stringify(ids);
}

function countLists(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/**
 * A new document counts as renamed if one vanished document had at least this share of the ranks at which the new
 * document appears.
 */
const RENAMED = 0.8;

/**
 * Finds the document that is new in the results of the most queries. Returns the number of queries for which this
 * document is new, and the usual number of such queries. Subtracts the number of queries whose earlier results already
 * contained the document, because a document that is returned for many queries gains more queries when other documents
 * are filtered out. A document is renamed, not new, if it mostly takes the ranks of one other document that is no
 * longer returned for any query.
 */
export function commonNewcomer(lists: readonly Lists[]) {
  const pool = new Set(lists.flatMap(({ now }) => now));
  const counts = new Map<string, number>();
  const renamed = new Map<string, Map<string, number>>();
  for (const { old, now } of lists) {
    const known = new Set(old);
    const last = lastNewRank({ old, now }, pool);
    for (const [place, id] of now.entries()) {
      if (known.has(id) || now.indexOf(id) < place || place > last) continue;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      const before = old[place];
      if (before === undefined || pool.has(before)) continue;
      const predecessors = renamed.get(id) ?? new Map<string, number>();
      renamed.set(id, predecessors.set(before, (predecessors.get(before) ?? 0) + 1));
    }
  }
  for (const [id, predecessors] of renamed) {
    if (largest(predecessors) >= RENAMED * (counts.get(id) ?? 0)) counts.delete(id);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const id of lists.flatMap(({ old }) => [...new Set(old)])) {
    const count = counts.get(id);
    if (count !== undefined) counts.set(id, count - 1);
  }
  return {
    /**
     * Number of queries for which the document is new, minus the number of queries that returned it before; 0 if there
     * is no such document.
     */
    queries: largest(counts),
    /**
     * Number of queries for which a document is new, summed over all new documents and divided by the number of
     * distinct documents that the earlier run returned.
     */
    usual: total / Math.max(1, new Set(lists.flatMap(({ old }) => old)).size),
  };
}

/**
 * Returns the last rank, from 0, at which `commonNewcomer` counts a new document of a list. If a list has at most as
 * many new documents as earlier documents that vanished from all results, new documents below the last known document
 * are not counted: they only moved up into the free ranks.
 */
function lastNewRank({ old, now }: Lists, pool: ReadonlySet<string>): number {
  const known = new Set(old);
  const lastKnown = now.findLastIndex((id) => known.has(id));
  const added = now.filter((id) => !known.has(id)).length;
  const vanished = old.filter((id) => !pool.has(id)).length;
  return lastKnown === -1 || added > vanished ? now.length : lastKnown;
}

/** Returns the largest count; 0 if there is none. `Math.max(...counts)` would fail for very many documents. */
function largest(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((most, count) => Math.max(most, count), 0);
}
