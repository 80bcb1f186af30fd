/**
 * Finds judgments of documents that are no longer in the store, proposes replacements, and applies accepted proposals.
 */
import { count } from '../../core/format.ts';
import { groupBy } from '../../core/group-by.ts';
import type { GoldenQuery, Judgment } from '../../core/model.ts';
import { containment, normalisedText, shinglesOf, wordsOf } from './similar-texts.ts';

interface ChunkCandidate {
  readonly documentId: string;
  readonly content: string;
  /** Cosine between the chunk vector and the vector of the missing text. */
  readonly similarity: number;
}

export type AnchorEvidence =
  /** The texts are equal except for case, white space and punctuation. */
  | { readonly kind: 'same_content'; readonly cosine: number }
  | {
      /** `whole`: the chunk contains the missing text. `part`: the missing text contains the chunk. */
      readonly kind: 'whole' | 'part';
      /** Share of the missing text's word sequences that the chunk contains, 0..1. */
      readonly ofLost: number;
      /** Share of the chunk's word sequences that the missing text contains, 0..1. */
      readonly ofChunk: number;
      readonly cosine: number;
    };

export interface Anchor {
  readonly documentId: string;
  readonly evidence: AnchorEvidence;
}

/** A chunk is proposed only if at least this share of word sequences matches. */
const MIN_AGREEMENT = 0.8;
/** Number of words per sequence. */
const RUN = 3;
/** Minimum number of word sequences in a chunk that is proposed as a part; shorter chunks match too many texts. */
const MIN_RUNS_OF_PART = 5;
/** Maximum number of parts proposed for a document; documents are rarely split into more chunks. */
const MAX_PARTS = 5;

/**
 * Returns the chunks that may replace a missing text, best first. If some chunks have the same text as the missing
 * document, returns only those chunks. Otherwise, returns the best chunk that contains at least 0.8 of the missing
 * text's three-word sequences. If there is no such chunk, the document may have been split. In that case, returns the
 * chunks whose three-word sequences mostly (at least 0.8) occur in the missing text, sorted by how much of the missing
 * text they contain. Returns no chunk if none is similar enough, because a proposal would be a guess.
 */
export function findAnchors(lost: string, candidates: readonly ChunkCandidate[]): Anchor[] {
  const plain = normalisedText(lost);
  if (plain === '') return [];
  const same = candidates.filter(({ content }) => normalisedText(content) === plain);
  if (same.length > 0) {
    return same.map(({ documentId, similarity }) => ({
      documentId,
      evidence: { kind: 'same_content', cosine: similarity },
    }));
  }
  const runsOfLost = shinglesOf(wordsOf(lost), RUN);
  const compared = candidates.map((candidate) => {
    const runs = shinglesOf(wordsOf(candidate.content), RUN);
    return {
      ...candidate,
      size: runs.size,
      ofLost: containment(runsOfLost, runs),
      ofChunk: containment(runs, runsOfLost),
    };
  });
  const anchor = (kind: 'whole' | 'part', { documentId, similarity, ofLost, ofChunk }: (typeof compared)[number]) => ({
    documentId,
    evidence: { kind, ofLost, ofChunk, cosine: similarity },
  });
  const [whole] = compared
    .filter(({ ofLost }) => ofLost >= MIN_AGREEMENT)
    .toSorted((a, b) => b.ofLost - a.ofLost || b.ofChunk - a.ofChunk);
  if (whole !== undefined) return [anchor('whole', whole)];
  return compared
    .filter(({ ofChunk, size }) => ofChunk >= MIN_AGREEMENT && size >= MIN_RUNS_OF_PART)
    .toSorted((a, b) => b.ofLost - a.ofLost)
    .slice(0, MAX_PARTS)
    .map((part) => anchor('part', part));
}

/**
 * Why a judged document is missing from the store. `superseded`: the store contains the document's text under another
 * id. `deleted`: the manifest lists the document as deleted, and nothing replaced it. `lost`: nothing replaced the
 * document, and the manifest does not list it as deleted, so retrieval became worse. Judgments of superseded and
 * deleted documents are out of date: they are stale labels.
 */
export type DocumentFate = 'superseded' | 'deleted' | 'lost';

export const staleFates = ['superseded', 'deleted'] as const satisfies readonly DocumentFate[];

export function isStaleFate(fate: DocumentFate | undefined): boolean {
  return fate === 'superseded' || fate === 'deleted';
}

/**
 * If at least this share of the judged documents is missing, all missing documents with unknown texts count as
 * superseded, because the index was probably re-chunked, or its documents got new ids.
 */
const NEARLY_ALL = 0.8;

/**
 * Determines why a document is missing. A document that the manifest lists as deleted counts as deleted, unless its
 * text was found in the store. Any other document counts as lost if its text was not found in the store, or if its text
 * is unknown. If nearly all judged documents are missing, however, a document whose text is unknown counts as
 * superseded, because the documents probably got new ids.
 *
 * @param search whether the document's text was found in the store; `unknown` if its text is not recorded, or if the
 *   store was not searched
 * @param missingShare share of the judged documents that are missing, 0..1
 * @param isDeleted whether the manifest lists the document as deleted
 */
export function fateOf(
  search: 'replaced' | 'not_found' | 'unknown',
  missingShare: number,
  isDeleted = false,
): DocumentFate {
  if (search === 'replaced') return 'superseded';
  if (isDeleted) return 'deleted';
  return search === 'unknown' && missingShare >= NEARLY_ALL ? 'superseded' : 'lost';
}

/**
 * Returns text such as "3 superseded, 5 deleted in the manifest" for a number of stale labels.
 *
 * @param deleted number of stale labels whose documents the manifest lists as deleted
 */
export function staleParts(stale: number, deleted: number): string {
  const superseded = `${count(stale - deleted)} superseded`;
  return deleted === 0 ? superseded : `${superseded}, ${count(deleted)} deleted in the manifest`;
}

/** Judgment of a document that is missing from the store. */
export interface MissingLabel extends Judgment {
  readonly queryId: string;
  readonly fate: DocumentFate;
}

export type LabelProbe =
  | {
      readonly kind: 'probed';
      /** Number of distinct judged documents that were looked up. */
      readonly probed: number;
      /** Number of superseded or deleted documents. */
      readonly stale: number;
      /** Number of deleted documents; `stale` includes them. */
      readonly deleted: number;
      /** Number of lost documents. */
      readonly lost: number;
      readonly labels: readonly MissingLabel[];
      /**
       * Ids of queries with at least one superseded or deleted document. The scores of these queries may drop although
       * the retriever works correctly. Does not include queries whose missing documents are all lost: such queries stay
       * in comparisons, and their lost documents count as not found.
       */
      readonly touched: ReadonlySet<string>;
      /** Ids of queries whose relevant documents are all superseded or deleted. */
      readonly dead: ReadonlySet<string>;
    }
  /** The store could not be probed. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** Returns the documents with a grade above 0; the absence of other documents changes no score. */
export function judgedDocuments(queries: readonly GoldenQuery[]): string[] {
  const ids = queries.flatMap(({ judgments }) =>
    judgments.filter(({ grade }) => grade > 0).map(({ documentId }) => documentId),
  );
  return [...new Set(ids)];
}

/**
 * Compares the judged documents of a set with the documents in the store.
 *
 * @param existing the documents in `judgedDocuments` that are in the store
 * @param fates why each missing document is missing; documents that are not in the map count as superseded
 */
export function probeLabels(
  queries: readonly GoldenQuery[],
  existing: ReadonlySet<string>,
  relevanceLevel: number,
  fates: ReadonlyMap<string, DocumentFate> = new Map(),
): LabelProbe {
  const fate = (id: string): DocumentFate => fates.get(id) ?? 'superseded';
  const isStale = (id: string): boolean => !existing.has(id) && isStaleFate(fate(id));
  const labels: MissingLabel[] = [];
  const touched = new Set<string>();
  const dead = new Set<string>();
  for (const { id: queryId, judgments } of queries) {
    const missing = judgments.filter(({ grade, documentId }) => grade > 0 && !existing.has(documentId));
    labels.push(...missing.map(({ documentId, grade }) => ({ queryId, documentId, grade, fate: fate(documentId) })));
    if (missing.some(({ documentId }) => isStale(documentId))) touched.add(queryId);
    const relevant = judgments.filter(({ grade }) => grade >= relevanceLevel);
    if (relevant.length > 0 && relevant.every(({ documentId }) => isStale(documentId))) dead.add(queryId);
  }
  const judged = judgedDocuments(queries);
  const missing = judged.filter((id) => !existing.has(id));
  const withFate = (wanted: DocumentFate): number => missing.filter((id) => fate(id) === wanted).length;
  const [deleted, lost] = [withFate('deleted'), withFate('lost')];
  return { kind: 'probed', probed: judged.length, stale: missing.length - lost, deleted, lost, labels, touched, dead };
}

/**
 * Proposal to move a judgment from a missing document to its replacements, or to remove the judgment of a deleted
 * document. A person accepts a proposal by its number.
 */
export interface LabelProposal {
  /** Number from 1; stable for the same set and store. */
  readonly number: number;
  readonly queryId: string;
  readonly from: string;
  /** Replacements; more than one if the document was split. Empty if the judgment is to be removed. */
  readonly to: readonly Anchor[];
  readonly grade: number;
}

/**
 * Returns a proposal for each judgment of a missing document that has a replacement or is listed as deleted, in the
 * order of the judgments.
 */
export function proposeLabels(
  labels: readonly MissingLabel[],
  anchors: ReadonlyMap<string, readonly Anchor[]>,
): LabelProposal[] {
  return labels
    .flatMap(({ queryId, documentId, grade, fate }) => {
      const to = anchors.get(documentId) ?? [];
      return to.length === 0 && fate !== 'deleted' ? [] : [{ queryId, from: documentId, to, grade }];
    })
    .map((proposal, index) => ({ number: index + 1, ...proposal }));
}

/**
 * Assigns the grades of missing documents to the chunks that replaced them; a chunk with a grade keeps the higher one.
 * Removes the judgments of deleted documents. A query that loses its last document with a grade above 0 is removed. If
 * it has forbidden documents, however, the query is kept without judgments.
 */
export function applyProposals(queries: readonly GoldenQuery[], accepted: readonly LabelProposal[]): GoldenQuery[] {
  const byQuery = groupBy(accepted, ({ queryId }) => queryId);
  return queries.flatMap((query) => {
    const own = byQuery.get(query.id) ?? [];
    if (own.length === 0) return [query];
    const judgments = moved(query.judgments, own);
    if (judgments.some(({ grade }) => grade > 0)) return [{ ...query, judgments }];
    return (query.forbidden ?? []).length > 0 ? [{ ...query, judgments: [] }] : [];
  });
}

function moved(judgments: readonly Judgment[], proposals: readonly LabelProposal[]): Judgment[] {
  const missing = new Set(proposals.map(({ from }) => from));
  const grades = new Map(
    judgments
      .filter(({ documentId }) => !missing.has(documentId))
      .map((judgment) => [judgment.documentId, judgment.grade]),
  );
  for (const { to, grade } of proposals) {
    for (const { documentId } of to) grades.set(documentId, Math.max(grade, grades.get(documentId) ?? 0));
  }
  return Array.from(grades, ([documentId, grade]) => ({ documentId, grade }));
}

/** An accepted proposal, possibly without some of its chunks. */
export interface Acceptance {
  readonly queryId: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** Returns the accepted proposals, each with only its accepted chunks, and the acceptances that match no proposal. */
export function matchAcceptances(proposals: readonly LabelProposal[], acceptances: readonly Acceptance[]) {
  const byLabel = new Map(proposals.map((proposal) => [key(proposal.queryId, proposal.from), proposal]));
  const accepted: LabelProposal[] = [];
  const unknown: Acceptance[] = [];
  for (const acceptance of acceptances) {
    const proposal = byLabel.get(key(acceptance.queryId, acceptance.from));
    const to = proposal?.to.filter(({ documentId }) => acceptance.to.includes(documentId)) ?? [];
    const isRemoval = proposal?.to.length === 0;
    if (proposal === undefined || to.length < acceptance.to.length || (to.length === 0) !== isRemoval)
      unknown.push(acceptance);
    else accepted.push({ ...proposal, to });
  }
  return {
    accepted,
    /** Acceptances that match no current proposal or chunk, or that accept none of the proposed chunks. */
    unknown,
  };
}

function key(queryId: string, from: string): string {
  return JSON.stringify([queryId, from]);
}
