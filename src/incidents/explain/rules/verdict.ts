/** Explains why a document was not returned for a query, using evidence from the retriever and the store. */
import { percentage } from '../../../core/format.ts';
import {
  isSameText,
  lengthOf,
  namesOf,
  type OutrankedBy,
  outrankedBy,
  placeIn,
  type RankedDocument,
  type Ranking,
} from './outranked.ts';

export const verdicts = [
  'returned',
  'below_k',
  'reranked_away',
  'outranked',
  'index_miss',
  'filtered',
  'not_indexed',
  'gone',
  'unknown',
] as const;

/** Evidence about a query, shared by all its documents. */
export interface SeenQuestion {
  /** Number of documents that users get. */
  readonly k: number;
  /** Retriever results for a request of k documents. */
  readonly asked: Ranking;
  /** Retriever results for a request of many more documents. */
  readonly deeper: Ranking;
  /** Results of every stage except the last, in the order of the stages, for a request of k documents. */
  readonly stages: readonly {
    readonly name: string;
    /** True for one of several parallel stages that are merged later. */
    readonly isSide: boolean;
    readonly documents: readonly RankedDocument[];
  }[];
  /** Retriever results for a request of k documents without the tags of the query; null if the query has no tags. */
  readonly untagged: Ranking | null;
  /** Fields in the configured filter of the retriever. */
  readonly filters: readonly string[];
  /** Hub documents, each with the share of queries that retrieve it. */
  readonly hubs: ReadonlyMap<string, number>;
  readonly store: {
    /** Kind of the store, such as `pgvector`; null if none is configured. */
    readonly kind: string | null;
    /** The k nearest documents according to the store's index. */
    readonly nearest: Ranking;
    /** A longer list of the nearest documents, from an exact search if the store supports one. */
    readonly broad: Ranking;
    readonly isBroadExact: boolean;
    /** Number of retriever results (`of`), and how many of them are in the store (`found`); null if unknown. */
    readonly shared: { readonly found: number; readonly of: number } | null;
    /** Index setting that determines how much of the index a search scans; null if unknown. */
    readonly breadth: string | null;
  };
}

export interface SeenDocument {
  readonly id: string;
  /** True if the document is in the store; null if the store could not be queried. */
  readonly isStored: boolean | null;
  /** When the document text was last read from the store; null if it was never read. */
  readonly storedAt: Date | null;
  readonly text: string | null;
  /** Latest golden run that returned the document. */
  readonly returned: { readonly runId: string; readonly at: Date } | null;
  /**
   * What is known about the stored vector. `none`: no chunk of the document has a vector, even though chunks of another
   * document do. `unfit`: a search for the document's own text does not find the document, even though another document
   * passes this test. `fits`: this search finds the document. Null: unknown.
   */
  readonly vector: 'fits' | 'unfit' | 'none' | null;
  /** Deployments since the document was last seen, newest first. */
  readonly changes: readonly { readonly kind: string; readonly version: string; readonly at: Date }[];
}

export interface Explanation {
  readonly verdict: (typeof verdicts)[number];
  /** Kind of the documents that outrank this one; null for other verdicts. */
  readonly outrankedBy: OutrankedBy | null;
  /** Rank in the retriever results, from 1, with each document counted once; null if the document is missing. */
  readonly rank: number | null;
  /** Sentences, the decisive sentence first. */
  readonly evidence: readonly string[];
  /** What to do, or how to find out more. */
  readonly action: string;
  readonly stages: readonly { readonly name: string; readonly rank: number | null; readonly score: number | null }[];
}

/** Minimum share of common results. Below it, the retriever and the store probably use different data. */
const SHARED = 0.5;

interface Finding extends Omit<Explanation, 'stages' | 'rank' | 'outrankedBy'> {
  readonly outrankedBy?: OutrankedBy;
}

/** Returns the first verdict that the evidence supports. */
export function explain(question: SeenQuestion, document: SeenDocument): Explanation {
  const { asked, k } = question;
  const stages = question.stages.map(({ name, documents }) => ({
    name,
    rank: null,
    score: null,
    ...placeIn(documents, document.id),
  }));
  const rank = placeIn(asked.documents, document.id)?.rank ?? null;
  const found =
    failedToAsk(asked) ??
    returned(rank, question) ??
    lostBetweenStages(stages, rank, question) ??
    filteredByTags(question, document) ??
    withoutItsVector(question, document) ??
    placedBelow(question, document, rank) ??
    fromStore(question, document);
  const deeper = placeIn(question.deeper.documents, document.id)?.rank ?? 0;
  return { outrankedBy: null, ...found, rank: rank ?? (deeper > k ? deeper : null), stages };
}

function failedToAsk(asked: Ranking): Finding | null {
  if (asked.problem === null) return null;
  return {
    verdict: 'unknown',
    evidence: [`The retriever returned no results: ${asked.problem}`],
    action: 'Fix the retriever first; run `recalld doctor`.',
  };
}

function returned(rank: number | null, { asked, k }: SeenQuestion): Finding | null {
  if (rank === null || rank > k) return null;
  const evidence = [`The retriever returns the document at rank ${rank} of ${lengthOf(asked)}.`];
  return { verdict: 'returned', evidence, action: 'No action is needed, because the query now returns the document.' };
}

function lostBetweenStages(
  stages: Explanation['stages'],
  finalRank: number | null,
  { stages: seen, k }: SeenQuestion,
): Finding | null {
  // Ignores stages that report no results, because they are no evidence.
  const named = stages
    .map((stage, index) => ({ ...stage, isSide: seen[index]?.isSide === true, n: seen[index]?.documents.length ?? 0 }))
    .filter(({ n }) => n > 0);
  const last = named.findLastIndex(({ rank }) => rank !== null);
  const sides = named[last]?.isSide === true ? named.filter(({ isSide }) => isSide) : named.slice(last, last + 1);
  const [best] = sides.filter(({ rank }) => rank !== null).toSorted((a, b) => Number(a.rank) - Number(b.rank));
  if (best === undefined || best.rank === null) return null;
  const { name, rank } = best;
  const next = named.slice(last + 1).find(({ isSide }) => !isSide)?.name ?? null;
  const after = finalRank === null ? 'it is missing' : `it is at rank ${finalRank}`;
  const evidence = [`After ${name}, the document is at rank ${rank}; after ${next ?? 'the later stages'}, ${after}.`];
  if (next !== null && /filter/.test(next))
    return { verdict: 'filtered', evidence, action: `Find out which rule in ${next} removes the document.` };
  if (rank <= k)
    return {
      verdict: 'reranked_away',
      evidence,
      action: 'Check how the later stage scores documents, and whether it reads the full text of this document.',
    };
  return {
    verdict: 'below_k',
    evidence,
    action: `The stage ${name} ranks the document below rank ${k}, and no later stage raises it: improve that stage or a later one.`,
  };
}

function filteredByTags({ untagged, k }: SeenQuestion, { id }: SeenDocument): Finding | null {
  const place = placeIn(untagged?.documents ?? [], id);
  if (place === null || place.rank > k) return null;
  return {
    verdict: 'filtered',
    evidence: [`Without the tags of the query, the retriever returns the document at rank ${place.rank}.`],
    action: 'Compare the fields of the document with the tags of the query: the filter removes the document.',
  };
}

function placedBelow(question: SeenQuestion, document: SeenDocument, askedRank: number | null): Finding | null {
  const { asked, deeper, k } = question;
  if (askedRank !== null) return placed(asked.documents, document, question, 'The retriever');
  const deep = placeIn(deeper.documents, document.id);
  if (deep === null || deep.rank <= k) return null;
  return placed(deeper.documents, document, question, `When asked for ${lengthOf(deeper)} documents, the retriever`);
}

/**
 * Explains a rank below k by the higher-ranked documents or, if nothing is unusual about them, by the document's own
 * score.
 */
function placed(
  ranking: readonly RankedDocument[],
  document: SeenDocument,
  { k, hubs }: SeenQuestion,
  who: string,
): Finding {
  const place = placeIn(ranking, document.id) ?? { rank: 0, score: null };
  const distinct = [...new Map(ranking.toReversed().map((one) => [one.id, one])).values()].toReversed();
  const last = distinct[k - 1];
  const scores =
    place.score === null || last === undefined || last.score === null
      ? ''
      : ` with score ${shortest(place.score)}; the document at rank ${k} has score ${shortest(last.score)}`;
  const where = `${who} returns the document at rank ${place.rank}${scores}.`;
  const above = distinct.slice(0, place.rank - 1);
  const text = distinct[place.rank - 1]?.text ?? document.text;
  const outranked = outrankedBy({ id: document.id, text, above, k, hubs });
  if (outranked !== null) {
    const { by, evidence, action } = outranked;
    return { verdict: 'outranked', outrankedBy: by, evidence: [evidence, where], action };
  }
  return {
    verdict: 'below_k',
    evidence: [where],
    action: `Other documents are ranked higher. Use a larger k, rerank the top ${place.rank} results, or use a better embedding model.`,
  };
}

function fromStore(question: SeenQuestion, document: SeenDocument): Finding {
  const { store, deeper } = question;
  const named = question.stages.filter(({ documents }) => documents.length > 0).map(({ name }) => name);
  const stages =
    named.length === 0 ? '' : ` None of the retriever's stages (${named.join(', ')}) returned the document.`;
  const lost = `The retriever does not return the document, not even among ${lengthOf(deeper)} documents.${stages}`;
  const unknown = (because: string, action: string): Finding => ({
    verdict: 'unknown',
    evidence: [because, lost],
    action,
  });
  if (store.kind === null)
    return unknown(
      'No vector store is configured.',
      'Set `vector_store` to the store that the retriever searches, and `embedder` to the embedding model of that store.',
    );
  if (store.shared !== null && store.shared.of > 0 && store.shared.found < SHARED * store.shared.of)
    return unknown(
      `The store has ${store.shared.found} of the ${store.shared.of} documents that the retriever returns. The retriever searches another store or uses other document ids.`,
      'Set `vector_store` to the collection that the retriever searches, and check which of its fields contains the document ids.',
    );
  if (document.isStored === false) return missing(question, document);
  return searched(question, document, unknown);
}

function missing({ store, asked, deeper }: SeenQuestion, document: SeenDocument): Finding {
  const { id, storedAt, returned: before, changes } = document;
  const rankings = [asked, deeper, store.nearest, store.broad];
  const relatives = relativesOf(id, rankings);
  const alike = document.text === null ? [] : sameTextAs(document.text, rankings);
  const others = [
    ...(relatives.length === 0 ? [] : [`Chunks of the document may be stored under other ids: ${namesOf(relatives)}.`]),
    ...(alike.length === 0 ? [] : [`The same text is stored under ${namesOf(alike)}.`]),
  ];
  const seenAt = Math.max(storedAt?.getTime() ?? 0, before?.at.getTime() ?? 0);
  if (seenAt === 0)
    return {
      verdict: 'not_indexed',
      evidence: ['The store has no document with this id and, as far as recalld knows, never had one.', ...others],
      action: 'Index the document, or correct its id in the golden set.',
    };
  const since = changes.map(({ kind, version, at }) => `${kind} ${version} at ${at.toISOString()}`);
  return {
    verdict: 'gone',
    evidence: [
      `The document is missing from the store; it was still there at ${new Date(seenAt).toISOString()}.`,
      ...(before === null ? [] : [`The golden run ${before.runId} still returned the document.`]),
      ...(since.length === 0 ? [] : [`Deployments since then: ${since.join(', ')}.`]),
      ...others,
    ],
    action:
      others.length === 0
        ? 'Find out what deleted the document. If it was deleted by mistake, index it again; otherwise remove its judgments from the golden set.'
        : 'The document was re-chunked or renamed: `recalld golden check` proposes the new ids for its judgments.',
  };
}

/**
 * Returns true if the vector of the document may be missing or wrong. The store does not return such a document, and
 * the retriever returns it only near the end of a short result list, or not at all. The retriever may return it because
 * an index that scans only a few of its lists can return documents with a wrong vector.
 */
export function leavesVectorOpen({ verdict, outrankedBy }: Explanation, question: SeenQuestion, id: string): boolean {
  return verdict === 'below_k' && outrankedBy === null && isFar(question, id);
}

/**
 * True if the retriever returns the store's nearest documents, but this document is not even in the longer list of the
 * nearest documents.
 */
const isFar = ({ asked, store: { nearest, broad } }: SeenQuestion, id: string): boolean =>
  nearest.problem === null &&
  broad.problem === null &&
  agreement(asked, nearest) >= SHARED &&
  placeIn(broad.documents, id) === null;

/** Explains a document that a search for its own text does not find. Its rank in any results is due to chance. */
function withoutItsVector(question: SeenQuestion, { id, vector }: SeenDocument): Finding | null {
  if (vector === null || vector === 'fits' || !isFar(question, id)) return null;
  const { store } = question;
  return {
    verdict: 'not_indexed',
    evidence: [
      vector === 'none'
        ? 'The document is in the store, but has no vector.'
        : 'The document is in the store, but a search for its own text does not find it. A search for the text of another document finds that document. The vector of this document was not computed by the configured embedder.',
      `${howSearched(store)} does not return the document among the ${lengthOf(store.broad)} nearest documents.`,
    ],
    action: 'Embed the document again with the model that embeds the queries, and index it.',
  };
}

const howSearched = ({ isBroadExact, broad }: SeenQuestion['store']) =>
  isBroadExact ? 'An exact search' : `A search for ${lengthOf(broad)} documents`;

function searched(
  question: SeenQuestion,
  document: SeenDocument,
  unknown: (because: string, action: string) => Finding,
): Finding {
  const { store, asked, k, filters, deeper } = question;
  const { nearest, broad } = store;
  const problem = nearest.problem ?? broad.problem;
  if (problem !== null)
    return unknown(`The store could not be searched: ${problem}`, 'Fix this error, or set the missing `embedder`.');
  const common = agreement(asked, nearest);
  const place = placeIn(broad.documents, document.id);
  const how = howSearched(store);
  if (place !== null && place.rank <= k) {
    const byIndex = placeIn(nearest.documents, document.id);
    if (byIndex === null || byIndex.rank > k) {
      const evidence = [
        `${how} in the store returns the document at rank ${place.rank}, but the index does not return it among the top ${k}.`,
      ];
      const setting = store.breadth === null ? 'of the index that determines how much a search scans' : store.breadth;
      if (common < SHARED)
        return unknown(
          `${evidence[0] ?? ''} The retriever and the index return different documents, so the index may not be the cause.`,
          'Configure the retriever stages in `results.stages`, and explain the query again.',
        );
      return { verdict: 'index_miss', evidence, action: `Raise the setting ${setting}, or rebuild the index.` };
    }
    if (filters.length > 0)
      return {
        verdict: 'filtered',
        evidence: [
          `Without the filter on ${filters.join(', ')}, the store returns the document at rank ${byIndex.rank}.`,
        ],
        action: `Check the values of ${filters.join(', ')} in the document.`,
      };
    return unknown(
      `The store returns the document at rank ${byIndex.rank}, so a later step (filter, fusion or reranker) removes it.`,
      'Configure the retriever stages in `results.stages`, and explain the query again.',
    );
  }
  if (common < SHARED)
    return unknown(
      `Only ${percentage(common)} of the retriever results are among the nearest documents in the store, so the retriever does not rank only by the vectors in the store.`,
      'Configure the retriever stages in `results.stages`, and explain the query again.',
    );
  if (place === null)
    return {
      verdict: 'below_k',
      evidence: [
        `${how} does not return the document among the ${lengthOf(broad)} nearest documents, and the retriever does not return it among ${lengthOf(deeper)} results.`,
      ],
      action: 'Check how the document was chunked and embedded: its vector is far from the query vector.',
    };
  return placed(broad.documents, document, question, how);
}

/** Share of the retriever results that the index also returns, 0 to 1; 1 for an empty list. */
function agreement(asked: Ranking, nearest: Ranking): number {
  if (nearest.problem !== null || asked.documents.length === 0) return 1;
  const own = new Set(asked.documents.map(({ id }) => id));
  const stored = new Set(nearest.documents.map(({ id }) => id));
  return [...own].filter((id) => stored.has(id)).length / own.size;
}

/**
 * True if `whole` consists of `part` and a suffix that does not start with a letter or digit: `kb-17` begins `kb-17#2`,
 * but not `kb-170`.
 */
function begins(whole: string, part: string): boolean {
  return whole !== part && whole.startsWith(part) && /^[^\p{L}\p{N}]/u.test(whole.slice(part.length));
}

/** Returns the ids that begin with `id`, such as the chunk ids of a document, and the ids that `id` begins with. */
function relativesOf(id: string, rankings: readonly Ranking[]): string[] {
  const ids = rankings.flatMap(({ documents }) => documents.map((found) => found.id));
  return [...new Set(ids)].filter((other) => begins(other, id) || begins(id, other));
}

function sameTextAs(text: string, rankings: readonly Ranking[]): string[] {
  const found = rankings.flatMap(({ documents }) => documents);
  return [...new Set(found.filter((one) => one.text !== null && isSameText(one.text, text)).map(({ id }) => id))];
}

const shortest = (score: number): string => String(Number(score.toPrecision(4)));
