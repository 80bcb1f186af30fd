/** Delays of recalld itself during a golden run; they make the measured latencies too long. */
import { percentage } from '../../../core/format.ts';

/** Shares of a run during which recalld was delayed; 0 if unknown. */
export interface OwnDelays {
  /** Share of the run's duration in which the event loop was blocked. */
  readonly lateShare: number;
  /** Share of the run's duration in which there were at least twice as many runnable processes as processors. */
  readonly queuedShare: number;
}

/**
 * At or above these shares, the 95th-percentile latency of a run reflects delays in recalld rather than in the
 * retriever.
 */
const WITHHELD_FROM: OwnDelays = { lateShare: 0.1, queuedShare: 0.5 };
/**
 * An alert fires if the event loop was blocked during at least this share of the run. This share is higher than
 * `WITHHELD_FROM`, because a backup or a build may slow down a single run. Runnable processes do not count toward the
 * alert, because a container sees the processes of its entire host.
 */
const ALERT_FROM_LATE = 0.25;

/** Returns true if the latencies of a run are no evidence about the retriever. */
export function isStarved(delays: OwnDelays): boolean {
  return delays.lateShare >= WITHHELD_FROM.lateShare || delays.queuedShare >= WITHHELD_FROM.queuedShare;
}

/** Returns true if the event loop was blocked long enough for an alert. */
export function isStarvedForAlert({ lateShare }: OwnDelays): boolean {
  return lateShare >= ALERT_FROM_LATE;
}

export function describeDelays({ lateShare, queuedShare }: OwnDelays): string {
  return lateShare >= queuedShare
    ? `recalld's event loop was blocked for ${percentage(lateShare)} of the run, which inflated the measured latencies.`
    : `The processors of the recalld host were busy for ${percentage(queuedShare)} of the run, which inflated the measured latencies.`;
}

const [BEFORE_SET, AFTER_SET] = ['latencies of ', ' are not evaluated'] as const;

/** Name of the alert that fires if the latencies of a golden set are withheld. */
export function withheldAlert(goldenSet: string): string {
  return `${BEFORE_SET}${goldenSet}${AFTER_SET}`;
}

/** Returns true for the name of such an alert, which concerns recalld itself, not the monitored service. */
export function isWithheldAlert(name: string): boolean {
  return name.startsWith(BEFORE_SET) && name.endsWith(AFTER_SET);
}
