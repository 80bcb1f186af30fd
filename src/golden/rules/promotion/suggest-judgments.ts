/** The documents that a person is to judge for a question, with the grades that feedback suggests. */
import type { RetrievedDocument } from '../../../model.ts';
import { type CandidateFeedback, tallyOf } from './candidate.ts';

export interface SuggestedJudgment {
  readonly documentId: string;
  /** Null: nothing suggests a grade, a person must judge. */
  readonly grade: number | null;
  /** Rank in the answer that the user saw, from 1; null when it was not shown. */
  readonly shownRank: number | null;
  /** Rank in the answer that the retriever gives now; null when it is not among it. */
  readonly rank: number | null;
  readonly clicks: number;
}

/**
 * Pools the documents that were shown, those that the retriever returns now, and those that users clicked or judged.
 *
 * Grades, by the first rule that applies:
 *
 * - Users judged the document (feedback of the kind `relevance`): 2 when more of them found it relevant, 0 when more
 *   did not.
 * - The document was clicked: 2 when the answer got positive opinions and no negative one, else 1.
 * - Otherwise none, since a document that nobody clicked may still be right.
 *
 * @param depth ranks that are pooled of each answer
 */
export function suggestJudgments(
  shown: readonly RetrievedDocument[],
  retrieved: readonly RetrievedDocument[],
  feedback: readonly CandidateFeedback[],
  depth: number,
): SuggestedJudgment[] {
  const shownRanks = ranksOf(shown, depth);
  const ranks = ranksOf(retrieved, depth);
  const named = feedback.flatMap(({ documentId }) => documentId ?? []);
  const answerTally = tallyOf(feedback.filter(({ documentId }) => documentId === null));
  const isPraised = answerTally.positive > 0 && answerTally.negative === 0;
  return [...new Set([...ranks.keys(), ...shownRanks.keys(), ...named])].map((documentId) => {
    const own = feedback.filter((one) => one.documentId === documentId);
    const { clicks } = tallyOf(own);
    return {
      documentId,
      grade: relevanceGrade(own) ?? (clicks === 0 ? null : isPraised ? 2 : 1),
      shownRank: shownRanks.get(documentId) ?? null,
      rank: ranks.get(documentId) ?? null,
      clicks,
    };
  });
}

function relevanceGrade(own: readonly CandidateFeedback[]): number | null {
  const { positive, negative } = tallyOf(own.filter(({ kind }) => kind === 'relevance'));
  if (positive === negative) return null;
  return positive > negative ? 2 : 0;
}

function ranksOf(documents: readonly RetrievedDocument[], depth: number): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [index, { id }] of documents.slice(0, depth).entries())
    if (!ranks.has(id)) ranks.set(id, index + 1);
  return ranks;
}
