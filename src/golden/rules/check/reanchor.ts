/** Finds the chunk that took the place of a judged document which left the store. */
import { containment, normalisedText, shinglesOf, wordsOf } from '../text/similarity.ts';

/** A chunk that may have taken the place. */
export interface ChunkCandidate {
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
export const LEAST_AGREEMENT = 0.8;
/** Words in a run. */
const RUN = 3;
/** A chunk of fewer runs agrees with too much to be a part of anything. */
const FEWEST_RUNS_OF_PART = 5;
/** A document is rarely cut into more. */
const MOST_PARTS = 5;

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
    .filter(({ ofLost }) => ofLost >= LEAST_AGREEMENT)
    .toSorted((a, b) => b.ofLost - a.ofLost || b.ofChunk - a.ofChunk);
  const [whole] = wholes;
  if (whole !== undefined) return [anchor('whole', whole)];
  return compared
    .filter(({ ofChunk, size }) => ofChunk >= LEAST_AGREEMENT && size >= FEWEST_RUNS_OF_PART)
    .toSorted((a, b) => b.ofLost - a.ofLost)
    .slice(0, MOST_PARTS)
    .map((part) => anchor('part', part));
}

interface Compared extends ChunkCandidate {
  readonly ofLost: number;
  readonly ofChunk: number;
}

function anchor(kind: 'whole' | 'part', { documentId, similarity, ofLost, ofChunk }: Compared): Anchor {
  return { documentId, evidence: { kind, ofLost, ofChunk, cosine: similarity } };
}
