/** Judgments whose document left the store: which they are, what took its place, and what people accept of it. */
import type { GoldenQuery, Judgment } from '../../core/model.ts';
import { containment, normalisedText, shinglesOf, wordsOf } from './similar-texts.ts';

/** A chunk that may have taken the place. */
interface ChunkCandidate {
  readonly documentId: string;
  readonly content: string;
  /** Cosine of its vector to that of the lost text. */
  readonly similarity: number;
}

/** Why a chunk is taken for the lost document. */
export type AnchorEvidence =
  /** The texts are equal but for case, white space and punctuation. */
  | { readonly kind: 'same_content'; readonly cosine: number }
  | {
      /** `whole`: the chunk holds the lost text. `part`: the lost text holds the chunk. */
      readonly kind: 'whole' | 'part';
      /** Share of the runs of words of the lost text that the chunk has, 0..1. */
      readonly ofLost: number;
      /** Share of the runs of words of the chunk that the lost text has, 0..1. */
      readonly ofChunk: number;
      readonly cosine: number;
    };

export interface Anchor {
  readonly documentId: string;
  readonly evidence: AnchorEvidence;
}

/** Share of runs of words that must agree before a chunk is proposed. */
const MIN_AGREEMENT = 0.8;
/** Words in a run. */
const RUN = 3;
/** A chunk of fewer runs agrees with too much to be a part of anything. */
const MIN_RUNS_OF_PART = 5;
/** A document is rarely cut into more. */
const MAX_PARTS = 5;

/**
 * The chunks that a person may take for the lost text, best first. An equal text ends the search. Else the chunk that
 * holds at least 0.8 of the lost text's runs of three words, the one that agrees most; where there is none, the chunks
 * of which at least 0.8 come from the lost text, the longest first, as when a document was cut in two. Empty when
 * nothing comes near: then nobody should guess.
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
  const wholes = compared
    .filter(({ ofLost }) => ofLost >= MIN_AGREEMENT)
    .toSorted((a, b) => b.ofLost - a.ofLost || b.ofChunk - a.ofChunk);
  const [whole] = wholes;
  if (whole !== undefined) return [anchor('whole', whole)];
  return compared
    .filter(({ ofChunk, size }) => ofChunk >= MIN_AGREEMENT && size >= MIN_RUNS_OF_PART)
    .toSorted((a, b) => b.ofLost - a.ofLost)
    .slice(0, MAX_PARTS)
    .map((part) => anchor('part', part));
}

interface Compared extends ChunkCandidate {
  readonly ofLost: number;
  readonly ofChunk: number;
}

function anchor(kind: 'whole' | 'part', { documentId, similarity, ofLost, ofChunk }: Compared): Anchor {
  return { documentId, evidence: { kind, ofLost, ofChunk, cosine: similarity } };
}

/**
 * What became of a judged document that the store no longer has. `superseded`: its text is there under another id, or the
 * manifest deleted it, so that the judgment is out of date. `lost`: nothing took its place, so that retrieval is worse.
 */
export const documentFates = ['superseded', 'lost'] as const;

export type DocumentFate = (typeof documentFates)[number];

/** From this share of all judged documents on, their disappearance without a known text is a new chunking or naming. */
const NEARLY_ALL = 0.8;

/**
 * A document whose text is known and not found is lost. Where its text is unknown, it is lost too, unless nearly all
 * judged documents went at once: that is what new ids look like.
 *
 * @param search what a search of the store for its text found; `unknown` without a text or a search
 * @param goneShare share of the judged documents that are gone, 0..1
 */
export function fateOf(search: 'replaced' | 'not_found' | 'unknown', goneShare: number): DocumentFate {
  if (search === 'replaced') return 'superseded';
  return search === 'unknown' && goneShare >= NEARLY_ALL ? 'superseded' : 'lost';
}

/** A judgment whose document is gone. */
export interface GoneLabel {
  readonly queryId: string;
  readonly documentId: string;
  readonly grade: number;
}

export interface StaleLabel extends GoneLabel {
  readonly fate: DocumentFate;
}

/** What a probe of the store found of the judged documents of a golden set. */
export type LabelProbe =
  | {
      readonly kind: 'probed';
      /** Different judged documents that were looked up. */
      readonly probed: number;
      /** How many of them are superseded. */
      readonly stale: number;
      /** How many of them are lost. */
      readonly lost: number;
      readonly labels: readonly StaleLabel[];
      /**
       * Ids of queries with a superseded document: their scores may drop without any fault of the retriever. A query
       * that only lost documents stays: it counts what it still finds.
       */
      readonly touched: ReadonlySet<string>;
      /** Ids of queries whose every relevant document is superseded. */
      readonly dead: ReadonlySet<string>;
    }
  /** Nobody could look. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** Documents with a grade above 0: only their absence changes a score. */
export function judgedDocuments(queries: readonly GoldenQuery[]): string[] {
  const ids = queries.flatMap(({ judgments }) =>
    judgments.filter(({ grade }) => grade > 0).map(({ documentId }) => documentId),
  );
  return [...new Set(ids)];
}

/**
 * Compares the judged documents of a set with those that the store still holds.
 *
 * @param existing those of `judgedDocuments` that are in the store
 * @param relevanceLevel minimum grade that counts as relevant
 * @param fates of the others; one that is left out is taken for superseded
 */
export function probeLabels(
  queries: readonly GoldenQuery[],
  existing: ReadonlySet<string>,
  relevanceLevel: number,
  fates: ReadonlyMap<string, DocumentFate> = new Map(),
): LabelProbe {
  const fate = (id: string): DocumentFate => fates.get(id) ?? 'superseded';
  const isSuperseded = (id: string): boolean => !existing.has(id) && fate(id) === 'superseded';
  const labels: StaleLabel[] = [];
  const touched = new Set<string>();
  const dead = new Set<string>();
  for (const { id: queryId, judgments } of queries) {
    const gone = judgments.filter(({ grade, documentId }) => grade > 0 && !existing.has(documentId));
    labels.push(...gone.map(({ documentId, grade }) => ({ queryId, documentId, grade, fate: fate(documentId) })));
    if (gone.some(({ documentId }) => isSuperseded(documentId))) touched.add(queryId);
    const relevant = judgments.filter(({ grade }) => grade >= relevanceLevel);
    if (relevant.length > 0 && relevant.every(({ documentId }) => isSuperseded(documentId))) dead.add(queryId);
  }
  const judged = judgedDocuments(queries);
  const gone = judged.filter((id) => !existing.has(id));
  const lost = gone.filter((id) => fate(id) === 'lost').length;
  return { kind: 'probed', probed: judged.length, stale: gone.length - lost, lost, labels, touched, dead };
}

/** To be accepted by a person, by its number. */
export interface LabelProposal {
  /** From 1; the same for the same set and store. */
  readonly number: number;
  readonly queryId: string;
  readonly from: string;
  /** In their place; more than one when the document was cut. */
  readonly to: readonly { readonly documentId: string; readonly evidence: AnchorEvidence }[];
  readonly grade: number;
}

/** A proposal for each stale label whose document has an anchor, in the order of the labels. */
export function proposeLabels(
  labels: readonly GoneLabel[],
  anchors: ReadonlyMap<string, readonly Anchor[]>,
): LabelProposal[] {
  return labels
    .flatMap(({ queryId, documentId, grade }) => {
      const to = anchors.get(documentId) ?? [];
      return to.length === 0 ? [] : [{ queryId, from: documentId, to, grade }];
    })
    .map((proposal, index) => ({ number: index + 1, ...proposal }));
}

/**
 * The queries with the accepted proposals carried out: the judgment of the lost document goes, its grade passes to the
 * chunks in its place. A chunk that has a judgment keeps the higher of the two grades.
 */
export function applyProposals(queries: readonly GoldenQuery[], accepted: readonly LabelProposal[]): GoldenQuery[] {
  const byQuery = new Map<string, LabelProposal[]>();
  for (const proposal of accepted) {
    byQuery.set(proposal.queryId, [...(byQuery.get(proposal.queryId) ?? []), proposal]);
  }
  return queries.map((query) => {
    const own = byQuery.get(query.id) ?? [];
    return own.length === 0 ? query : { ...query, judgments: moved(query.judgments, own) };
  });
}

function moved(judgments: readonly Judgment[], proposals: readonly LabelProposal[]): Judgment[] {
  const gone = new Set(proposals.map(({ from }) => from));
  const grades = new Map(
    judgments
      .filter(({ documentId }) => !gone.has(documentId))
      .map((judgment) => [judgment.documentId, judgment.grade]),
  );
  for (const { to, grade } of proposals) {
    for (const { documentId } of to) grades.set(documentId, Math.max(grade, grades.get(documentId) ?? 0));
  }
  return Array.from(grades, ([documentId, grade]) => ({ documentId, grade }));
}

/** What was accepted: a proposal, perhaps without some of its chunks. */
export interface Acceptance {
  readonly queryId: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** Takes of each accepted proposal the chunks that were accepted and are still proposed. */
export function matchAcceptances(proposals: readonly LabelProposal[], acceptances: readonly Acceptance[]) {
  const byLabel = new Map(proposals.map((proposal) => [key(proposal.queryId, proposal.from), proposal]));
  const accepted: LabelProposal[] = [];
  const unknown: Acceptance[] = [];
  for (const acceptance of acceptances) {
    const proposal = byLabel.get(key(acceptance.queryId, acceptance.from));
    const to = proposal?.to.filter(({ documentId }) => acceptance.to.includes(documentId)) ?? [];
    if (proposal === undefined || to.length < acceptance.to.length) unknown.push(acceptance);
    else accepted.push({ ...proposal, to });
  }
  return {
    accepted,
    /** Accepted, but proposed no more: the set or the store has changed since. */
    unknown,
  };
}

function key(queryId: string, from: string): string {
  return JSON.stringify([queryId, from]);
}
