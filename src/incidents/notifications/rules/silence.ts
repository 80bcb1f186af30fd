/** A period in which the messages and alerts of a pipeline are suppressed. */
export interface NewSilence {
  readonly pipeline: string;
  readonly startsAt: Date;
  /** End of the silence, exclusive. */
  readonly endsAt: Date;
  readonly reason: string;
}

export interface Silence extends NewSilence {
  readonly id: string;
  readonly createdAt: Date;
  /** The API key or the person who added the silence. */
  readonly createdBy: string;
}

export function isSilenced(silences: readonly Silence[], pipeline: string, at: Date): boolean {
  return silences.some((one) => one.pipeline === pipeline && one.startsAt <= at && at < one.endsAt);
}
