/** How alike the answers of two runs are, question by question, without a judgment. */
import { rankBiasedOverlap } from '../../ir/rank-biased-overlap.ts';
import { applyDuplicatePolicy } from '../../ir/ranking.ts';
import type { QueryAnswer } from './run.ts';

interface AnswerOverlap {
  readonly query: string;
  /** Rank-biased overlap of the first k documents, 0 to 1. */
  readonly overlap: number;
}

/**
 * A question that failed now has nothing in common with its answer before; one that failed before, or was not asked, is left
 * out. A document that comes twice counts at its first rank.
 *
 * @returns the least alike first
 */
export function stabilityOf(before: readonly QueryAnswer[], now: readonly QueryAnswer[], k: number): AnswerOverlap[] {
  const answers = new Map(now.map((answer) => [answer.queryId, answer]));
  return before
    .flatMap((old) => {
      const answer = answers.get(old.queryId);
      if (answer === undefined || !hasAnswered(old)) return [];
      const overlap = hasAnswered(answer) ? rankBiasedOverlap(rankingOf(old), rankingOf(answer), k) : 0;
      return [{ query: old.queryId, overlap }];
    })
    .toSorted((a, b) => a.overlap - b.overlap);
}

const hasAnswered = ({ outcome }: QueryAnswer): boolean => outcome === 'ok' || outcome === 'empty';

function rankingOf({ documents }: QueryAnswer): string[] {
  const { ranking } = applyDuplicatePolicy(
    documents.map(({ id }) => id),
    'collapse',
  );
  return ranking.filter((id) => id !== null);
}
