import { DAY_MS } from '../../core/time.ts';

export interface FlaggedGrades {
  /** Number of model grades. */
  readonly graded: number;
  /** Number of model grades that are flagged because the query or the document addresses the model. */
  readonly flagged: number;
}

/** Period over which the console page and the command count flagged grades. */
export const FLAGGED_MS = 7 * DAY_MS;

export function flaggedSentence(pipeline: string, { graded, flagged }: FlaggedGrades): string {
  const counted = `${flagged} of ${graded} model ${graded === 1 ? 'grade' : 'grades'} in the last 7 days`;
  return flagged === 0
    ? `${counted} are flagged.`
    : `${counted} ${flagged === 1 ? 'is' : 'are'} flagged: the text addresses the model (instructions, claimed grades). List them for review with GET /v1/judgments?pipeline=${encodeURIComponent(pipeline)}&flagged=true.`;
}
