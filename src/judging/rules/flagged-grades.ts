/** Grades of a model for texts that speak to it: how many there are, in words. */
import { DAY_MS } from '../../core/time.ts';

/** Grades of the model for texts that speak to it, to be reviewed. */
export interface FlaggedGrades {
  /** Grades of the model. */
  readonly graded: number;
  /** Of these, for such a text. */
  readonly flagged: number;
}

/** Grades of this long are counted on the page and by the command. */
export const FLAGGED_MS = 7 * DAY_MS;

/** How many grades of the model people are to review, and where they are listed. */
export function flaggedSentence(pipeline: string, { graded, flagged }: FlaggedGrades): string {
  const of = `${flagged} of ${graded} ${graded === 1 ? 'grade' : 'grades'} of the model in the last seven days`;
  return flagged === 0
    ? `${of} are for texts that speak to it.`
    : `${of} ${flagged === 1 ? 'is for a text that speaks' : 'are for texts that speak'} to it (orders, claims of a grade); review them: GET /v1/judgments?pipeline=${encodeURIComponent(pipeline)}&flagged=true.`;
}
