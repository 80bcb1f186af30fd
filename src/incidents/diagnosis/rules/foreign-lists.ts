/** Answers that are the list of another query, as a cache with a wrong key returns them. */

/** The documents of one query before and now, best first, as far as both runs were asked for. */
export interface Lists {
  readonly old: readonly string[];
  readonly now: readonly string[];
}

export type ForeignLists = ReturnType<typeof foreignLists>;

/** Shorter lists are alike by chance. */
const MIN_DOCUMENTS = 3;

/** Lists are compared in their order, those of before as far as the answer of now goes. */
export function foreignLists(lists: readonly Lists[]) {
  const compared = lists.filter(({ old, now }) => now.length >= MIN_DOCUMENTS && old.length >= MIN_DOCUMENTS);
  const lengths = [...new Set(compared.map(({ now }) => now.length))];
  const before = countLists(compared.flatMap(({ old }) => lengths.map((length) => keyOf(old.slice(0, length)))));
  let [foreign, usual] = [0, 0];
  for (const list of compared) {
    const own = keyOf(list.old.slice(0, list.now.length));
    const key = keyOf(list.now);
    const cut = Math.min(list.now.length, list.old.length);
    const ofItself = lengths.filter((length) => Math.min(length, list.old.length) === cut).length;
    if ((before.get(own) ?? 0) > ofItself) usual += 1;
    if (key !== own && before.has(key)) foreign += 1;
  }
  return {
    /** Answers that are long enough to differ. */
    compared: compared.length,
    /**
     * Of those, not what the query got before, and what another query got before. Lists that several queries share now and
     * none had before are of a search that no longer sees the queries, not of a cache.
     */
    foreign,
    /** Of those, the list of another query before already: of queries that ask the same. */
    usual,
  };
}

function keyOf(ids: readonly string[]): string {
  return JSON.stringify(ids);
}

function countLists(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** The document that came new to most queries, beside how many a document comes new to. */
export function commonNewcomer(lists: readonly Lists[]) {
  const counts = new Map<string, number>();
  for (const { old, now } of lists) {
    const known = new Set(old);
    for (const id of new Set(now)) if (!known.has(id)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return {
    /** Queries that it came new to; 0 without one. */
    queries: Math.max(0, ...counts.values()),
    /** Mean over the documents that any query got before. */
    usual: total / Math.max(1, new Set(lists.flatMap(({ old }) => old)).size),
  };
}
