/**
 * Detects golden runs during which recalld itself was short of processor time. A diagnosis ignores the latencies of
 * these runs.
 */
import { MINUTE_MS, type TimeSpan } from '../../core/time.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { LagHistory } from '../../platform/threads/lag-history.ts';
import { type Alert, alertOf } from './rules/incident.ts';
import { describeDelays, isStarvedForAlert, type OwnDelays, withheldAlert } from './rules/own-delays.ts';

/** Alert rule for a blocked event loop; the rule covers every process of recalld. */
const STARVED_ALERT = 'RecalldStarved';

/**
 * Length of the period before the end of a run that must also be short of CPU time for an alert. A CPU shortage that is
 * limited to a short run fires no alert.
 */
const MIN_STARVED_MS = 10 * MINUTE_MS;

/** @param ownLag recorded delays of this process; null if this process records no delays */
export function ownDelays(ownLag: LagHistory | null, { from, until }: TimeSpan): OwnDelays {
  return {
    lateShare: ownLag?.lateShare(from, until) ?? 0,
    queuedShare: ownLag?.queuedShare(from, until) ?? 0,
  };
}

/** Returns the alert for the latest run of a golden set; empty if recalld had enough processor time. */
export function starvedAlerts({ goldenSet, ended }: LatestRun, ownLag: LagHistory | null): Alert[] {
  if (ended === null) return [];
  const { finishedAt, durationSeconds } = ended;
  const from = new Date(finishedAt.getTime() - 1000 * durationSeconds);
  const delays = ownDelays(ownLag, { from, until: finishedAt });
  const longer = ownDelays(ownLag, { from: new Date(finishedAt.getTime() - MIN_STARVED_MS), until: finishedAt });
  if (!isStarvedForAlert(delays) || !isStarvedForAlert(longer)) return [];
  const headline = `recalld was short of processor time during the run of ${goldenSet}`;
  return [alertOf(withheldAlert(goldenSet), STARVED_ALERT, headline, describeDelays(delays), { goldenSet })];
}
