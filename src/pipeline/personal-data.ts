import type { Feedback, LiveQuery } from '../core/live/live-query.ts';
import type { LiveSample } from '../ports/live-traffic.ts';

/** What is stored in the place of what could tell who asked: redacted, hashed with a key, or left out. Never throws. */
export interface PersonalData {
  ofQuery(query: LiveQuery): Pick<LiveSample, 'sessionHash' | 'text' | 'textHash' | 'userHash' | 'error'>;
  ofFeedback(feedback: Feedback): { readonly userHash: string | null; readonly comment: string | null };
  /** A keyed hash of any text. */
  hash(text: string): string;
}
