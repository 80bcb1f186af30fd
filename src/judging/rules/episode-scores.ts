/** Scores of judged episodes: hits for the user's original text, and the gain from rewriting it. */
import { ALL_SEGMENT } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import { evaluateRanking } from '../../math/ir/evaluate.ts';
import { weightedMean } from './judged-mean.ts';
import { RELEVANT_GRADE } from './judged-scores.ts';

/** Scores of one episode. All documents are graded against the user's original text. */
export interface EpisodeScores {
  /** True if a retrieval returned a document with grade 2 or 3 among its top k. */
  readonly isHit: boolean;
  /** nDCG of the rewritten and of the original text; null if the first retrieval was not rewritten. */
  readonly rewriting: { readonly rewritten: number; readonly original: number } | null;
}

/** A graded episode with its probability of being sampled, selected and graded. */
export interface ScoredEpisode extends EpisodeScores {
  /** Identifies the sampled unit: the session, or the episode if it has no session. */
  readonly cluster: number;
  readonly probability: number;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * nDCG at k for the results of a rewritten text, and for those of the original text. Both scores use one ideal order
 * over the documents of both results, so that one score can be subtracted from the other.
 *
 * @param gradeOf returns 0 for a document without a grade
 */
export function rewritingScores(
  rewritten: readonly string[],
  original: readonly string[],
  gradeOf: (id: string) => number,
  k: number,
) {
  const judgments = new Map([...rewritten, ...original].map((id) => [id, gradeOf(id)]));
  const ndcg = (ranking: readonly string[]): number =>
    evaluateRanking(ranking, judgments, [{ measure: 'ndcg', k }], RELEVANT_GRADE)[0] ?? 0;
  return { rewritten: ndcg(rewritten), original: ndcg(original) };
}

/**
 * Means over all episodes, and over each segment, with the weight 1 / `probability` for each episode. The jackknife of
 * `judgedMean` runs over sessions (or episodes without a session). The scores come from model grades, which are not
 * corrected by human judgments.
 *
 * - `episode_hit_rate`: share of episodes with a hit.
 * - `rewrite_gain`: mean nDCG of the rewritten text minus that of the original text, over episodes whose first
 *   retrieval was rewritten.
 */
export function judgedEpisodeMeasures(
  episodes: readonly ScoredEpisode[],
  { segmentKeys, maxSegments }: { readonly segmentKeys: readonly string[]; readonly maxSegments: number },
) {
  const { segments } = groupBySegment(episodes, segmentKeys, maxSegments);
  const groups = [
    { name: ALL_SEGMENT, of: episodes },
    ...segments.map(({ name, members }) => ({ name, of: members.flatMap((index) => episodes[index] ?? []) })),
  ];
  return groups.flatMap(({ name: segment, of }) => {
    const rewritings = of.flatMap(({ rewriting, ...episode }) =>
      rewriting === null ? [] : [{ ...episode, rewriting }],
    );
    return [
      {
        segment,
        measure: 'episode_hit_rate',
        ...meanOf(
          of.map((episode) => ({ ...episode, score: Number(episode.isHit) })),
          (score) => score,
        ),
      },
      {
        segment,
        measure: 'rewrite_gain',
        // `weightedMean` needs scores in [0, 1].
        ...meanOf(
          rewritings.map(({ rewriting: { rewritten, original }, ...episode }) => ({
            ...episode,
            score: (1 + rewritten - original) / 2,
          })),
          (score) => 2 * score - 1,
        ),
      },
    ];
  });
}

function meanOf(
  scored: readonly (Omit<ScoredEpisode, 'rewriting'> & { readonly score: number })[],
  toValue: (score: number) => number,
) {
  const mean = weightedMean(scored);
  if (mean === null) return { kind: 'no_data', reason: 'too_few_episodes' } as const;
  const { low, high } = mean;
  const value = toValue(Math.min(1, Math.max(0, mean.value)));
  return { kind: 'value', value, ciLow: toValue(low), ciHigh: toValue(high), n: scored.length, details: {} } as const;
}
