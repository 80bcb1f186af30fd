/**
 * Measures the difference between two clocks by reading the local clock before and after a request for the other
 * clock's time.
 */

export interface ClockLook {
  /** Time on the local clock when the request was sent, in milliseconds. */
  readonly sentAtMs: number;
  /** Time until the response arrived, measured with a monotonic clock. */
  readonly tookMs: number;
  /** Time on the other clock at some moment between the request and the response. */
  readonly otherMs: number;
}

export type ClockSkew = ReturnType<typeof clockSkew>;

/** Maximum tolerated difference. A larger difference makes ages, windows and scheduled times visibly wrong. */
export const MAX_SKEW_SECONDS = 60;

/** Computes the difference, assuming that the other clock was read in the middle of the round trip. */
export function clockSkew({ sentAtMs, tookMs, otherMs }: ClockLook) {
  return {
    /** How far the local clock is ahead of the other clock; negative if it is behind. */
    seconds: (sentAtMs + tookMs / 2 - otherMs) / 1000,
    /** Maximum error of the difference: half of the round trip. */
    marginSeconds: tookMs / 2000,
  };
}

/**
 * Returns true if the local clock differs from the other clock by at most `MAX_SKEW_SECONDS`. Returns the previous
 * result, `before`, if the round trip took too long for a reliable answer.
 */
export function isClockRight({ seconds, marginSeconds }: ClockSkew, before: boolean): boolean {
  if (Math.abs(seconds) + marginSeconds <= MAX_SKEW_SECONDS) return true;
  return Math.abs(seconds) - marginSeconds > MAX_SKEW_SECONDS ? false : before;
}

export function clockTrouble({ seconds }: ClockSkew): string {
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  return `The clock of this machine is ${inWords(Math.abs(seconds))} ${direction} the database clock. This machine starts no scheduled work until the clocks agree to within a minute; synchronize both machines with NTP.`;
}

function inWords(seconds: number): string {
  if (seconds < 600) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
}
