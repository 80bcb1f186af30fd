/** Whether a sentinel stands or has fallen. */

import { ALL_SEGMENT } from '../../../model.ts';
import { percent } from '../../../text/number-text.ts';
import type { RunDifference } from '../compare-golden-runs.ts';
import { judgeDifference } from '../comparison/verdict.ts';
import { failedShare, type OutcomeCounts } from '../run.ts';

/** Level of the paired test: at a run every five minutes on a noisy retriever, luck alone falls about once a day. */
export const SENTINEL_ALPHA = 0.01;
/** Least fall of nDCG at the largest cut-off that is worth a full run. */
export const SENTINEL_DROP = 0.05;

export type SentinelVerdict =
  | { readonly kind: 'stands' }
  /** `failures`: the retriever did not answer; `scores`: it answered worse. */
  | { readonly kind: 'fallen'; readonly cause: 'failures' | 'scores'; readonly reason: string };

/**
 * A sentinel has fallen when more of its queries failed than the error budget, or when its nDCG at the largest cut-off
 * is lower than that of the last full run over the same queries by 0.05 or more, paired test p < 0.01. The same answers
 * give exactly no difference, so that a deterministic retriever on an unchanged index never falls.
 *
 * @param differences against the last full run; null when there is nothing that both can be compared by
 */
export function judgeSentinel(
  outcomes: OutcomeCounts,
  errorBudget: number,
  differences: readonly RunDifference[] | null,
): SentinelVerdict {
  const failed = failedShare(outcomes);
  if (failed > errorBudget) {
    const reason = `${percent(failed)} of the queries of the sentinel failed, more than the error budget of ${percent(errorBudget)}.`;
    return { kind: 'fallen', cause: 'failures', reason };
  }
  const overall = (differences ?? []).filter(
    ({ segment, key }) => segment === ALL_SEGMENT && key.measure === 'ndcg',
  );
  const found = overall.toSorted((a, b) => b.key.k - a.key.k)[0];
  const settings = { alpha: SENTINEL_ALPHA, minEffect: SENTINEL_DROP };
  if (found === undefined || judgeDifference(found, settings) !== 'regression') return { kind: 'stands' };
  const reason = `The ndcg@${found.key.k} of the sentinel fell by ${(-found.difference).toFixed(4)} against the last full run (p = ${found.p.toFixed(4)}, n = ${found.n}).`;
  return { kind: 'fallen', cause: 'scores', reason };
}
