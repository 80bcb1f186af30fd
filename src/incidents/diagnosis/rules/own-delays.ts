/** Delays of recalld itself during a golden run, which make the measured latencies too long. */
import { percentage } from '../../../core/format.ts';

/** Shares of a run; 0 if they are unknown. */
export interface OwnDelays {
  /** With a blocked event loop. */
  readonly lateShare: number;
  /** With at least twice as many runnable processes as processors. */
  readonly queuedShare: number;
}

/** Shares from which the 95th-percentile latency of a run reflects recalld, not the retriever. */
const WITHHELD_FROM: OwnDelays = { lateShare: 0.1, queuedShare: 0.5 };
/** Shares from which an alert fires. Higher, because a backup or a build may slow down a single run. */
const ALERT_FROM: OwnDelays = { lateShare: 0.25, queuedShare: 0.9 };

/** Returns true if the latencies of a run are no evidence about the retriever. */
export function isStarved(delays: OwnDelays): boolean {
  return isBeyond(delays, WITHHELD_FROM);
}

/** Returns true if the delays of a run are large enough for an alert. */
export function isStarvedForAlert(delays: OwnDelays): boolean {
  return isBeyond(delays, ALERT_FROM);
}

function isBeyond({ lateShare, queuedShare }: OwnDelays, limit: OwnDelays): boolean {
  return lateShare >= limit.lateShare || queuedShare >= limit.queuedShare;
}

export function describeDelays({ lateShare, queuedShare }: OwnDelays): string {
  return lateShare >= queuedShare
    ? `recalld's event loop was blocked for ${percentage(lateShare)} of the run: its latencies are too long.`
    : `The processors of the recalld host were busy for ${percentage(queuedShare)} of the run: its latencies are too long.`;
}
