/** How alike the answers of two runs are, question by question, without a judgment. */
import { rankBiasedOverlap } from '../../ir/rank-biased-overlap.ts';
import { applyDuplicatePolicy } from '../../ir/ranking.ts';
import type { QueryAnswer } from './run.ts';

export interface AnswerOverlap {
  readonly query: string;
  /** Rank-biased overlap of the first k documents, 0 to 1. */
  readonly overlap: number;
}

/**
 * A question that failed now has nothing in common with its answer before; one that failed before, or was not asked, is left
 * out. A document that comes twice counts at its first rank.
 *
 * @param now by question
 * @returns in the order of `before`
 */
export function stabilityOf(
  before: readonly QueryAnswer[],
  now: ReadonlyMap<string, QueryAnswer>,
  k: number,
): AnswerOverlap[] {
  return before.flatMap((old) => {
    const answer = now.get(old.queryId);
    if (answer === undefined || !hasAnswered(old)) return [];
    const overlap = hasAnswered(answer) ? rankBiasedOverlap(rankingOf(old), rankingOf(answer), k) : 0;
    return [{ query: old.queryId, overlap }];
  });
}

const hasAnswered = ({ outcome }: QueryAnswer): boolean => outcome === 'ok' || outcome === 'empty';

function rankingOf({ documents }: QueryAnswer): string[] {
  const { ranking } = applyDuplicatePolicy(
    documents.map(({ id }) => id),
    'collapse',
  );
  return ranking.filter((id) => id !== null);
}
