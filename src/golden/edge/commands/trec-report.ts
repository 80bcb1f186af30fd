/** Counts, notes and errors about a run, shared by `eval` and `compare`. */

import { RecalldError } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import { toDocument } from '../../../core/text/names.ts';
import { quoted } from '../../../core/text/source-line.ts';
import { differenceInWords, shownIds } from '../../rules/id-mismatch.ts';
import { OTHER_QUERY, type RunMismatch, type TrecScores } from '../../trec/score-runs.ts';

export function countsJson({ counts }: TrecScores) {
  return toDocument({ ...counts, matchingQueries: counts.answered });
}

/** Returns the likely cause of a mismatch; null for a run with at least one judged document. */
export function mismatchJson({ mismatch }: TrecScores) {
  return mismatch && { ...mismatch, differences: [...mismatch.differences] };
}

/**
 * Minimum number of pairs in reverse rank order, for each pair in rank order, at which the scores count as reversed. A
 * pair consists of two results that are adjacent in score order.
 */
const REVERSED = 9;

/** Returns sentences that explain the counts, most important first. */
export function notesOf({ counts, mismatch, path, ranks, repeat, steps }: TrecScores): string[] {
  const { missing, queriesWithSteps, queriesWithoutRelevant } = counts;
  const [queries, they, counted] =
    missing === 1 ? ['judged query has', 'it scores', 'counts'] : ['judged queries have', 'they score', 'count'];
  return [
    queriesWithSteps > 0 &&
      `${plural(queriesWithSteps, 'query', 'queries')} in ${path} ${queriesWithSteps === 1 ? 'has' : 'have'} ` +
        `${plural(steps.count, 'step')} (query ids such as "q1#2"); union_recall@k and all_found@k score the union of the results of these steps.`,
    steps.unread !== null &&
      `The query id ${quoted(steps.unread)} in ${path} is ignored, because it has no judgments and is not the id of a step: steps are numbered 1, 2, 3, ..., as in "q1#2".`,
    mismatch === null &&
      missing > 0 &&
      `${missing} ${queries} no results in ${path}; ${they} 0 and ${counted} in the means.`,
    queriesWithoutRelevant > 0 &&
      `${queriesWithoutRelevant} ${queriesWithoutRelevant === 1 ? 'judged query has' : 'judged queries have'} no document at the relevance level, so no result can be relevant; ` +
        'they still count in the means.',
    counts.judgedDocuments === 0 && 'Every grade is negative, and negative grades mean unjudged, so every score is 0.',
    ranks.disagree > 0 &&
      ranks.disagree >= REVERSED * ranks.agree &&
      `The scores in ${path} increase with the rank, so the order by score is the reverse of the order by rank. If ` +
        'the scores are distances, negate them.',
    repeat !== null &&
      `The document ${quoted(repeat.documentId)}${seemsMissing(repeat.documentId) ? ' (perhaps a missing id)' : ''} occurs ${repeat.times} times in the results of the query ` +
        `${quoted(repeat.queryId)} in ${path}; --duplicates decides how repeats count.`,
  ].filter((note) => note !== false);
}

function seemsMissing(id: string): boolean {
  return /^(?:none|null|nan|undefined|n\/a)?$/i.test(id);
}

/** @throws RecalldError `nothing_matches` for the first run with no judged document */
export function refuseMismatch(qrelsPath: string, runs: readonly TrecScores[]): void {
  for (const { path, counts, mismatch } of runs) {
    if (mismatch === null) continue;
    throw new RecalldError('nothing_matches', sentenceOf(qrelsPath, path, counts.judgedDocuments, mismatch));
  }
}

function sentenceOf(qrels: string, run: string, documents: number, mismatch: RunMismatch): string {
  const [judged, returned] = shownIds(mismatch.judged, mismatch.returned);
  const subject = documents === 1 ? 'The judged document' : `None of the ${documents} judged documents`;
  const none = `${subject} of ${qrels} is ${documents === 1 ? 'not ' : ''}among the results of its query in ${run}`;
  if (mismatch.differences.includes(OTHER_QUERY)) {
    return (
      `${none}, but ${judged} is among the results of another query. ` +
      'Use the same query ids for the same queries in both files.'
    );
  }
  const nothing = mismatch.ids === 'query' ? `No query of ${run} is judged in ${qrels}` : none;
  return (
    `${nothing}: ${qrels} has the ${mismatch.ids} ${judged}, and ${run} has ${returned}; they ${differenceInWords(mismatch.differences)}. ` +
    `Use the same ${mismatch.ids} ids in both files.`
  );
}
