/**
 * Why a document did not come back for a question: one verdict by what retriever and store say when they are asked
 * again, and `unknown` where that does not tell.
 */
import {
  isSameText,
  lengthOf,
  namesOf,
  type OutrankedBy,
  outrankedBy,
  placeIn,
  placeInRanking,
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

export type ExplanationVerdict = (typeof verdicts)[number];

/** What was seen of a question, whichever of its documents is explained. */
export interface SeenQuestion {
  /** How many documents a user gets. */
  readonly k: number;
  /** The answer of the retriever to k. */
  readonly asked: Ranking;
  /** Its answer to many more. */
  readonly deeper: Ranking;
  /** What its stages before the last had at k, in their order. */
  readonly stages: readonly {
    readonly name: string;
    /** One of several beside each other, which are joined after it. */
    readonly isSide: boolean;
    readonly documents: readonly RankedDocument[];
  }[];
  /** Its answer to k without the tags of the question; null: the question has none. */
  readonly untagged: Ranking | null;
  /** Fields that the retriever filters by, as the config says. */
  readonly filters: readonly string[];
  /** Documents that come back for far more questions than their share, with that share. */
  readonly hubs: ReadonlyMap<string, number>;
  readonly store: {
    /** `pgvector`, ...; null: the config names none. */
    readonly kind: string | null;
    /** The k nearest by its index. */
    readonly nearest: Ranking;
    /** Many more, by an exact search where the store has one. */
    readonly broad: Ranking;
    readonly isBroadExact: boolean;
    /** How many of the documents of the retriever it has, to know that both speak of the same; null: not known. */
    readonly shared: { readonly found: number; readonly of: number } | null;
    /** The setting of its index that decides how much is looked at, when it says so. */
    readonly breadth: string | null;
  };
}

export interface SeenDocument {
  readonly id: string;
  /** Null: the store could not be asked. */
  readonly isStored: boolean | null;
  /** When its text was last read from the store; null: never, or it was never judged. */
  readonly storedAt: Date | null;
  /** What it said then. */
  readonly text: string | null;
  /** The newest of the last golden runs that had it. */
  readonly returned: { readonly runId: string; readonly at: Date } | null;
  /**
   * Of its chunks in the store: `none` has a vector, as chunks of another document have; its own text does not find it, as
   * that of another does (`unfit`), or does; null: not known.
   */
  readonly vector: 'fits' | 'unfit' | 'none' | null;
  /** Changes of the pipeline since it was last seen, the newest first. */
  readonly changes: readonly { readonly kind: string; readonly version: string; readonly at: Date }[];
}

export interface Explanation {
  readonly verdict: ExplanationVerdict;
  /** What stands above it, of one that is outranked; null otherwise. */
  readonly outrankedBy: OutrankedBy | null;
  /** In what the retriever gave, from 1, each document counted once; null: it is not there. */
  readonly rank: number | null;
  /** Sentences, the one that decided first. */
  readonly evidence: readonly string[];
  /** What to do about it, or what would tell more. */
  readonly action: string;
  readonly stages: readonly { readonly name: string; readonly rank: number | null; readonly score: number | null }[];
}

/** The retriever searches this store when it has so many of its documents. */
const SHARED = 0.5;

interface Finding extends Omit<Explanation, 'stages' | 'rank' | 'outrankedBy'> {
  readonly outrankedBy?: OutrankedBy;
}

/** The first of these looks that tells decides. */
export function explain(question: SeenQuestion, document: SeenDocument): Explanation {
  const { asked, k } = question;
  const stages = question.stages.map(({ name, documents }) => ({
    name,
    rank: null,
    score: null,
    ...placeIn(documents, document.id),
  }));
  const rank = placeInRanking(asked, document.id)?.rank ?? null;
  const found =
    failedToAsk(asked) ??
    returned(rank, question) ??
    lostBetweenStages(stages, rank, question) ??
    filteredByTags(question, document) ??
    withoutItsVector(question, document) ??
    placedBelow(question, document, rank) ??
    fromStore(question, document);
  return { outrankedBy: null, ...found, rank: rank ?? placeBelow(question, document.id, k), stages };
}

function placeBelow({ deeper }: SeenQuestion, id: string, k: number): number | null {
  const rank = placeInRanking(deeper, id)?.rank ?? null;
  return rank !== null && rank > k ? rank : null;
}

function failedToAsk(asked: Ranking): Finding | null {
  if (asked.kind === 'ranking') return null;
  return {
    verdict: 'unknown',
    evidence: [`The retriever gave no answer: ${asked.reason}`],
    action: 'Mend the retriever first; `recalld doctor` looks at it.',
  };
}

function returned(rank: number | null, { asked, k }: SeenQuestion): Finding | null {
  if (rank === null || rank > k) return null;
  const evidence = [`It comes back at rank ${rank} of ${lengthOf(asked)}.`];
  return { verdict: 'returned', evidence, action: 'Nothing: asked now, it is found.' };
}

function lostBetweenStages(
  stages: Explanation['stages'],
  finalRank: number | null,
  { stages: seen, k }: SeenQuestion,
): Finding | null {
  // A stage that told nothing is not in the answer, so that nothing follows from it.
  const told = stages
    .map((stage, index) => ({ ...stage, isSide: seen[index]?.isSide === true, n: seen[index]?.documents.length ?? 0 }))
    .filter(({ n }) => n > 0);
  const last = told.findLastIndex(({ rank }) => rank !== null);
  const sides = told[last]?.isSide === true ? told.filter(({ isSide }) => isSide) : told.slice(last, last + 1);
  const [best] = sides.filter(({ rank }) => rank !== null).toSorted((a, b) => Number(a.rank) - Number(b.rank));
  if (best === undefined || best.rank === null) return null;
  const { name, rank } = best;
  const next = told.slice(last + 1).find(({ isSide }) => !isSide)?.name ?? null;
  const after = finalRank === null ? 'is not in the answer' : `is at rank ${finalRank} of the answer`;
  const evidence = [`The stage ${name} had it at rank ${rank}, and after ${next ?? 'what follows'} it ${after}.`];
  if (next !== null && /filter/.test(next))
    return { verdict: 'filtered', evidence, action: `See by which rule ${next} drops it.` };
  if (rank <= k)
    return {
      verdict: 'reranked_away',
      evidence,
      action: 'Look at what the later stage prefers, and whether it reads the text of this document to its end.',
    };
  return {
    verdict: 'below_k',
    evidence,
    action: `The stage ${name} ranks it below ${k} and nothing lifts it: improve that stage, or what comes after it.`,
  };
}

function filteredByTags({ untagged, k }: SeenQuestion, { id }: SeenDocument): Finding | null {
  const place = untagged === null ? null : placeInRanking(untagged, id);
  if (place === null || place.rank > k) return null;
  return {
    verdict: 'filtered',
    evidence: [`Asked without the tags of the question, the retriever gives it at rank ${place.rank}.`],
    action: 'Compare the fields of the document with the tags of the question: the filter by them leaves it out.',
  };
}

function placedBelow(question: SeenQuestion, document: SeenDocument, askedRank: number | null): Finding | null {
  const { asked, deeper, k } = question;
  const deep = placeInRanking(deeper, document.id);
  if (askedRank !== null && asked.kind === 'ranking')
    return placed(asked.documents, document, question, 'The retriever');
  if (deep === null || deep.rank <= k || deeper.kind === 'none') return null;
  return placed(deeper.documents, document, question, `Asked for ${lengthOf(deeper)} documents, the retriever`);
}

/** Of a document that has a rank below k: by what stands above it, or by its score alone. */
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
      : `, with a score of ${shortest(place.score)} against ${shortest(last.score)} of the last one shown`;
  const where = `${who} has it at rank ${place.rank}${scores}.`;
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
    action: `Other documents are held to be nearer: a larger k, a reranker over the first ${place.rank} or a better embedding would show it.`,
  };
}

function fromStore(question: SeenQuestion, document: SeenDocument): Finding {
  const { store, deeper } = question;
  const told = question.stages.filter(({ documents }) => documents.length > 0).map(({ name }) => name);
  const stages = told.length === 0 ? '' : ` None of its stages had it (${told.join(', ')}).`;
  const lost = `The retriever does not give it, nor among ${lengthOf(deeper)} when asked for more.${stages}`;
  const unknown = (because: string, action: string): Finding => ({
    verdict: 'unknown',
    evidence: [because, lost],
    action,
  });
  if (store.kind === null)
    return unknown(
      'The config names no vector store to look into.',
      'Name the store behind the retriever in `vector_store`, and its embedder.',
    );
  if (store.shared !== null && store.shared.of > 0 && store.shared.found < SHARED * store.shared.of)
    return unknown(
      `The store has ${store.shared.found} of the ${store.shared.of} documents that the retriever gives, so it is not what the retriever searches, or names documents otherwise.`,
      'Let `vector_store` name the collection that the retriever searches and the field of its document ids.',
    );
  if (document.isStored === false) return missing(question, document);
  return searched(question, document, unknown);
}

/** In the store there is no document of this id. */
function missing({ store, asked, deeper }: SeenQuestion, document: SeenDocument): Finding {
  const { id, storedAt, returned: before, changes } = document;
  const rankings = [asked, deeper, store.nearest, store.broad];
  const relatives = relativesOf(id, rankings);
  const alike = document.text === null ? [] : sameTextAs(document.text, rankings);
  const others = [
    ...(relatives.length === 0 ? [] : [`${namesOf(relatives)} may be parts of it under other ids.`]),
    ...(alike.length === 0 ? [] : [`${namesOf(alike)} has the text that it had.`]),
  ];
  const seenAt = Math.max(storedAt?.getTime() ?? 0, before?.at.getTime() ?? 0);
  if (seenAt === 0)
    return {
      verdict: 'not_indexed',
      evidence: ['The store has no document of this id, and recalld never saw one.', ...others],
      action: 'Index it, or mend its id in the golden set.',
    };
  const since = changes.map(({ kind, version, at }) => `${kind} ${version} at ${at.toISOString()}`);
  return {
    verdict: 'gone',
    evidence: [
      `The store has no document of this id any more; it was there at ${new Date(seenAt).toISOString()}.`,
      ...(before === null ? [] : [`The golden run ${before.runId} still had it.`]),
      ...(since.length === 0 ? [] : [`Since then changed: ${since.join(', ')}.`]),
      ...others,
    ],
    action:
      others.length === 0
        ? 'Index it again, or take its judgments out of the golden set; see what removed it.'
        : 'It was cut or named anew: `recalld golden check` proposes the ids that its judgments should have.',
  };
}

/**
 * Whether an explanation leaves open that the vector of the document is missing or wrong: nothing ranks it, or the
 * retriever alone does, as an index that looks at few of its lists may at the end of a short answer.
 */
export function leavesVectorOpen({ verdict, outrankedBy }: Explanation, question: SeenQuestion, id: string): boolean {
  return verdict === 'below_k' && outrankedBy === null && isFar(question, id);
}

/** The retriever gives what is nearest in the store, and the many that are near there are without the document. */
const isFar = ({ asked, store: { nearest, broad } }: SeenQuestion, id: string): boolean =>
  nearest.kind === 'ranking' &&
  broad.kind === 'ranking' &&
  agreement(asked, nearest) >= SHARED &&
  placeIn(broad.documents, id) === null;

/** Its own text does not find it in the store, so that a place that the retriever gives it is chance. */
function withoutItsVector(question: SeenQuestion, { id, vector }: SeenDocument): Finding | null {
  if (vector === null || vector === 'fits' || !isFar(question, id)) return null;
  const { store } = question;
  return {
    verdict: 'not_indexed',
    evidence: [
      vector === 'none'
        ? 'It is in the store without a vector.'
        : 'It is in the store, but a search for its own text does not find it, as it finds another document by its own: its vector is not one that this embedder makes.',
      `${howSearched(store)} does not have it among the ${lengthOf(store.broad)} nearest.`,
    ],
    action: 'Embed it again by the model that embeds the questions, and index it.',
  };
}

const howSearched = ({ isBroadExact, broad }: SeenQuestion['store']) =>
  isBroadExact ? 'An exact search' : `A search for ${lengthOf(broad)}`;

/** It is stored: what does the store itself answer? */
function searched(
  question: SeenQuestion,
  document: SeenDocument,
  unknown: (because: string, action: string) => Finding,
): Finding {
  const { store, asked, k, filters, deeper } = question;
  const { nearest, broad } = store;
  if (nearest.kind === 'none' || broad.kind === 'none') {
    const reason = nearest.kind === 'none' ? nearest.reason : broad.kind === 'none' ? broad.reason : '';
    return unknown(`The store could not be searched: ${reason}`, 'Configure the `embedder` that made its vectors.');
  }
  const common = agreement(asked, nearest);
  const place = placeIn(broad.documents, document.id);
  const how = howSearched(store);
  if (place !== null && place.rank <= k) {
    const byIndex = placeIn(nearest.documents, document.id);
    if (byIndex === null || byIndex.rank > k) {
      const evidence = [
        `${how} of the store has it at rank ${place.rank}, and a search of its index for ${k} has not.`,
      ];
      const setting = store.breadth === null ? 'of its index that decides how much is looked at' : store.breadth;
      if (common < SHARED)
        return unknown(
          `${evidence[0] ?? ''} But the retriever gives other documents than the index, so that this need not be why.`,
          'Name the stages of the retriever in `results.stages`.',
        );
      return { verdict: 'index_miss', evidence, action: `Raise the setting ${setting}, or build the index anew.` };
    }
    if (filters.length > 0)
      return {
        verdict: 'filtered',
        evidence: [`Without the filter by ${filters.join(', ')} the store has it at rank ${byIndex.rank}.`],
        action: `See what the document has in ${filters.join(', ')}.`,
      };
    return unknown(
      `The store itself has it at rank ${byIndex.rank}: what stands between it and the answer (a filter, a fusion, a reranker) loses it.`,
      'Name the stages of the retriever in `results.stages`, and ask again.',
    );
  }
  if (common < SHARED)
    return unknown(
      `Of what the retriever gives, ${Math.round(common * 100)}% is among the nearest of the store: it does not rank by these vectors alone.`,
      'Name the stages of the retriever in `results.stages`, and ask again.',
    );
  if (place === null)
    return {
      verdict: 'below_k',
      evidence: [
        `${how} does not have it among the ${lengthOf(broad)} nearest, nor does the retriever among ${lengthOf(deeper)}.`,
      ],
      action: 'Its vector is far from that of the question: look at how it was cut and embedded.',
    };
  return placed(broad.documents, document, question, how);
}

/** Share of what the retriever gives that the index gives too, 0 to 1; 1 for an empty answer. */
function agreement(asked: Ranking, nearest: Ranking): number {
  if (asked.kind === 'none' || nearest.kind === 'none' || asked.documents.length === 0) return 1;
  const own = new Set(asked.documents.map(({ id }) => id));
  const stored = new Set(nearest.documents.map(({ id }) => id));
  return [...own].filter((id) => stored.has(id)).length / own.size;
}

/** `kb-17#2` begins with `kb-17`; `kb-170` does not. */
function begins(whole: string, part: string): boolean {
  return whole !== part && whole.startsWith(part) && /^[^\p{L}\p{N}]/u.test(whole.slice(part.length));
}

/** Ids that are this one with something behind or before it, as chunks have them. */
function relativesOf(id: string, rankings: readonly Ranking[]): string[] {
  const ids = rankings.flatMap((one) => (one.kind === 'ranking' ? one.documents.map((found) => found.id) : []));
  return [...new Set(ids)].filter((other) => begins(other, id) || begins(id, other));
}

/** Ids under which the same text comes back. */
function sameTextAs(text: string, rankings: readonly Ranking[]): string[] {
  const found = rankings.flatMap((one) => (one.kind === 'ranking' ? one.documents : []));
  return [...new Set(found.filter((one) => one.text !== null && isSameText(one.text, text)).map(({ id }) => id))];
}

const shortest = (score: number): string => String(Number(score.toPrecision(4)));
