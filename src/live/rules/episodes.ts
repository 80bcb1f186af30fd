/** An episode consists of all retrievals in one agent turn. */

import type { QueryOutcome } from '../../core/model.ts';
import { compareCodePoints, rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { looksLikeAnswer } from './answer-like.ts';
import { type ClickRateOutcome, rateOver } from './feedback/click-rates.ts';
import { meanCount } from './live-stages.ts';
import type { ClusterMember } from './sampling/estimate.ts';

/** A retrieval, with the fields from which the measures of its episode are computed. */
export interface EpisodeRetrieval {
  readonly id: string;
  /** Text of the query; null if it is unknown or stored as a hash. */
  readonly text: string | null;
  /** Original user query before the agent rewrote it; null if unknown or not stored. */
  readonly originalText: string | null;
  /** Ids of the retrieved documents, best first; empty if the retrieval found nothing or failed. */
  readonly documentIds: readonly string[];
  readonly outcome: QueryOutcome;
  readonly occurredAt: Date;
  /** Position in the episode as reported by the service; null if the service reported none. */
  readonly step: number | null;
}

/** A retrieval as a step of its episode, with the result of the comparison with earlier steps. */
export type EpisodeStep<Retrieval extends EpisodeRetrieval = EpisodeRetrieval> = Retrieval & {
  /**
   * Index of the first earlier step whose results overlap with those of this step by at least REPEATED_OVERLAP; null if
   * there is no such step.
   */
  readonly repeats: number | null;
  /**
   * Ids of the distinct documents that no earlier step returned, best first; for the first step, the ids of all its
   * documents.
   */
  readonly newDocumentIds: readonly string[];
};

/** Minimum rank-biased overlap at which a retrieval counts as a repeat of an earlier retrieval. */
export const REPEATED_OVERLAP = 0.8;
/** Number of top ranks from which the overlap is computed; deeper ranks contribute less than 1 % of the weight. */
const OVERLAP_DEPTH = 50;
/**
 * Maximum number of recent distinct rankings with which a retrieval is compared, so that a long loop takes linear time.
 */
const MAX_COMPARED = 20;

/**
 * Orders the retrievals in one episode and compares each with earlier retrievals. A retrieval without documents is not
 * a repeat, because it may retry a failed retrieval.
 */
export function episodeSteps<Retrieval extends EpisodeRetrieval>(
  retrievals: readonly Retrieval[],
): readonly EpisodeStep<Retrieval>[] {
  const seen = new Set<string>();
  const earlier: { readonly place: number; readonly ids: readonly string[] }[] = [];
  return inOrder(retrievals).map((retrieval, place) => {
    const ids = [...new Set(retrieval.documentIds)];
    const newDocumentIds = ids.filter((id) => !seen.has(id));
    for (const id of newDocumentIds) seen.add(id);
    const ranked = ids.slice(0, OVERLAP_DEPTH);
    const overlaps = earlier
      .slice(-MAX_COMPARED)
      .map((one) => ({ ...one, overlap: ranked.length === 0 ? 0 : overlapOf(one.ids, ranked) }));
    const repeated = overlaps.find(({ overlap }) => overlap >= REPEATED_OVERLAP)?.place ?? null;
    if (ranked.length > 0 && overlaps.every(({ overlap }) => overlap < 1)) earlier.push({ place, ids: ranked });
    return { ...retrieval, repeats: repeated, newDocumentIds };
  });
}

function overlapOf(a: readonly string[], b: readonly string[]): number {
  const isSame = a.length === b.length && a.every((id, rank) => id === b[rank]);
  return isSame ? 1 : rankBiasedOverlap(a, b, OVERLAP_DEPTH);
}

/** Orders retrievals by step number if all retrievals report one, otherwise by start time. */
function inOrder<Retrieval extends EpisodeRetrieval>(retrievals: readonly Retrieval[]): readonly Retrieval[] {
  const areNumbered = retrievals.every(({ step }) => step !== null);
  return retrievals.toSorted(
    (a, b) =>
      (areNumbered ? (a.step ?? 0) - (b.step ?? 0) : 0) ||
      a.occurredAt.getTime() - b.occurredAt.getTime() ||
      (a.step ?? 0) - (b.step ?? 0) ||
      compareCodePoints(a.id, b.id),
  );
}

export type EpisodeTally = ReturnType<typeof tallyEpisode>;

export function tallyEpisode(steps: readonly EpisodeStep[]) {
  const later = steps.slice(1);
  return {
    retrievals: steps.length,
    /** Number of retrievals that did not fail but returned no documents. */
    empty: steps.filter(({ outcome }) => outcome === 'empty').length,
    later: later.length,
    /** Number of retrievals after the first that repeat an earlier one. */
    repeated: later.filter(({ repeats }) => repeats !== null).length,
    /** Number of documents in all retrievals after the first; each document counts once per retrieval. */
    laterDocuments: later.reduce((sum, { documentIds }) => sum + new Set(documentIds).size, 0),
    /** Number of documents from retrievals after the first that no earlier retrieval had returned. */
    newDocuments: later.reduce((sum, { newDocumentIds }) => sum + newDocumentIds.length, 0),
    /** Number of retrievals whose text differs from the original text, if both texts are known. */
    rewritten: steps.filter(isRewritten).length,
    /** Number of rewritten retrievals whose text looks like an answer. */
    answers: steps.filter((step) => isRewritten(step) && looksLikeAnswer(step.text, step.originalText)).length,
  };
}

function isRewritten<Step extends EpisodeRetrieval>(
  step: Step,
): step is Step & Record<'text' | 'originalText', string> {
  return step.text !== null && step.originalText !== null && step.text !== step.originalText;
}

/**
 * Splits retrievals with the same episode id wherever the agent paused for longer than `idleMs`. As a result, each turn
 * is a separate episode even if a service uses its conversation id as the episode id of all turns.
 */
export function splitByPause<Retrieval extends Pick<EpisodeRetrieval, 'occurredAt'>>(
  retrievals: readonly Retrieval[],
  idleMs: number,
): readonly (readonly Retrieval[])[] {
  const parts: Retrieval[][] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const retrieval of retrievals.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())) {
    const startedAtMs = retrieval.occurredAt.getTime();
    if (startedAtMs - lastMs > idleMs) parts.push([retrieval]);
    else parts.at(-1)?.push(retrieval);
    lastMs = startedAtMs;
  }
  return parts;
}

export const episodeMeasures = [
  'episode_retrievals',
  'episode_repeats',
  'episode_repeat_ratio',
  'episode_new_documents_ratio',
  'episode_empty_ratio',
  'rewrite_answer_ratio',
] as const;

export type EpisodeMeasure = (typeof episodeMeasures)[number];

/**
 * Tally of an episode that was sampled as a whole. `cluster` identifies the sampled unit: the session if there is one,
 * otherwise the episode.
 */
export interface SampledEpisode extends ClusterMember {
  readonly tally: EpisodeTally;
}

/**
 * Estimates a measure of episodes:
 *
 * - `episode_retrievals`: mean number of retrievals per episode.
 * - `episode_repeats`: number of retrievals that repeat an earlier retrieval, as a mean over episodes. Unlike
 *   `episode_repeat_ratio`, this number does not increase when a better retriever makes further retrievals unnecessary.
 * - `episode_repeat_ratio`: share of the retrievals after the first that repeat an earlier retrieval in the same
 *   episode.
 * - `episode_new_documents_ratio`: share of the documents in all retrievals after the first that no earlier retrieval
 *   in the episode returned.
 * - `episode_empty_ratio`: share of retrievals that return no documents.
 * - `rewrite_answer_ratio`: share of rewritten retrievals whose text looks like an answer.
 *
 * Shares are ratios of weighted sums over episodes. The bounds are those of a 95 % confidence interval. Retrievals
 * within an episode, and episodes within a session, may depend on each other in any way.
 *
 * @throws RangeError for a probability outside (0, 1]
 */
export function estimateEpisodeMeasure(measure: EpisodeMeasure, episodes: readonly SampledEpisode[]): ClickRateOutcome {
  const ratio = (numerator: keyof EpisodeTally, denominator: keyof EpisodeTally): ClickRateOutcome =>
    rateOver(
      episodes.map(({ cluster, probability, tally }) => ({
        cluster,
        probability,
        numerator: tally[numerator],
        denominator: tally[denominator],
      })),
    );
  const meanOf = (count: keyof EpisodeTally): ClickRateOutcome =>
    meanCount(episodes.map(({ cluster, probability, tally }) => ({ cluster, probability, value: tally[count] })));
  switch (measure) {
    case 'episode_retrievals': {
      const mean = meanOf('retrievals');
      // Every episode contains at least one retrieval.
      return mean.kind === 'rate' ? { ...mean, low: Math.max(1, mean.low) } : mean;
    }
    case 'episode_repeats':
      return meanOf('repeated');
    case 'episode_repeat_ratio':
      return ratio('repeated', 'later');
    case 'episode_new_documents_ratio':
      return ratio('newDocuments', 'laterDocuments');
    case 'episode_empty_ratio':
      return ratio('empty', 'retrievals');
    case 'rewrite_answer_ratio':
      return ratio('answers', 'rewritten');
  }
}
