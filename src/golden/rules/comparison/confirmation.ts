import type { ComparisonVerdict } from './verdict.ts';

/** The verdict on a run against its baseline. */
export interface ComparedRun {
  readonly runId: string;
  readonly baselineRunId: string;
  readonly verdict: ComparisonVerdict;
}

export interface Confirmation {
  /** `unconfirmed_regression` when the last run regressed, but not yet enough runs in a row. */
  readonly verdict: ComparisonVerdict | 'unconfirmed_regression';
  /** Regressions in a row at the end of the history, 0 when the last run is none. */
  readonly consecutive: number;
}

/**
 * Confirms a regression: it counts once the given number of runs in a row regressed against the same baseline. Any
 * other verdict between them, an `inconclusive` one too, starts the count anew; so does another baseline. Other
 * verdicts are taken from the last run as they are.
 *
 * @param history completed runs, oldest first; void and failed runs are no evidence and do not belong in it, and a
 * run that is in it twice counts once
 * @param runs how many in a row, >= 1
 * @returns null without any run
 */
export function confirmRegression(history: readonly ComparedRun[], runs: number): Confirmation | null {
  const last = history.at(-1);
  if (last === undefined) return null;
  const regressed = new Set<string>();
  for (const { runId, baselineRunId, verdict } of history.toReversed()) {
    if (verdict !== 'regression' || baselineRunId !== last.baselineRunId) break;
    regressed.add(runId);
  }
  const consecutive = regressed.size;
  if (last.verdict !== 'regression') return { verdict: last.verdict, consecutive };
  return { verdict: consecutive >= runs ? 'regression' : 'unconfirmed_regression', consecutive };
}
