/**
 * When a window of live queries becomes evidence.
 *
 * A window closes once, a grace period after its end. Windows close in the order of time, including those without
 * queries. The queries that arrived until then are the evidence of the window, in whatever order and through whichever
 * worker they came. Later ones count in the metrics of the window but never in its evidence, so that no alarm is raised
 * or taken back afterwards.
 */

export interface WindowSpan {
  readonly startMs: number;
  /** Exclusive. */
  readonly endMs: number;
}

/** The window that a time lies in; windows are aligned to the epoch. */
export function windowAt(timeMs: number, windowMs: number): WindowSpan {
  const startMs = Math.floor(timeMs / windowMs) * windowMs;
  return { startMs, endMs: startMs + windowMs };
}

/**
 * The windows that may close now, oldest first: those that ended at least `graceMs` ago and follow the last closed one
 * without a gap.
 *
 * @param closedUntilMs end of the last closed window, or the time from which windows count
 * @param most after a long stop the rest is left for the next call
 */
export function windowsToClose(
  closedUntilMs: number,
  nowMs: number,
  timing: { readonly windowMs: number; readonly graceMs: number; readonly most: number },
): readonly WindowSpan[] {
  const spans: WindowSpan[] = [];
  let startMs = Math.ceil(closedUntilMs / timing.windowMs) * timing.windowMs;
  while (spans.length < timing.most && startMs + timing.windowMs + timing.graceMs <= nowMs) {
    spans.push({ startMs, endMs: startMs + timing.windowMs });
    startMs += timing.windowMs;
  }
  return spans;
}
