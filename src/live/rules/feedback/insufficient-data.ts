/** The outcome of a measure of feedback when there is too little to say anything; never NaN. */
export interface InsufficientFeedback {
  readonly kind: 'insufficient_data';
  /** What there is too little of. */
  readonly of: 'opinions' | 'sessions' | 'clicks';
  readonly have: number;
  readonly need: number;
}

/** The outcome for `have` of what there should be `need` of. */
export function tooFew(of: InsufficientFeedback['of'], have: number, need: number): InsufficientFeedback {
  return { kind: 'insufficient_data', of, have, need };
}
