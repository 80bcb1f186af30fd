/**
 * Compares the clock of this machine with that of the database, at the start and every few minutes. A clock that is
 * wrong would start runs at times that never were, call ticks missed that are still to come, and end runs that have
 * just begun.
 */

import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Clock } from '../core/time.ts';
import { type ClockLook, type ClockSkew, clockSkew, clockTrouble, isClockRight } from '../math/schedule/clock-skew.ts';
import type { Meter } from '../platform/metrics/meter.ts';

export interface ClockWatchDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Pick<Meter, 'set'>;
  readonly look: () => Promise<ClockLook>;
}

export interface ClockWatch {
  /** What is wrong, as a sentence; null while the clock is right. */
  trouble(): string | null;
  /** Looks at the clocks first when ours was set since they were looked at. */
  isRight(): Promise<boolean>;
  /** Calls back whenever the clock is right again after it was wrong. */
  whenRightAgain(then: () => void): void;
  stop(): Promise<void>;
}

const LOOK_MS = 120_000;
/** Ticks wait for a clock that is wrong. */
const LOOK_WHILE_WRONG_MS = 15_000;
/** A clock that moved by so much against one that nobody sets was set; NTP slews it by far less between two looks. */
const SET_MS = 5000;

/** Resolves when the clocks have been compared for the first time, or could not be. */
export async function watchClock({ clock, logger, meter, look }: ClockWatchDeps): Promise<ClockWatch> {
  const stopping = new AbortController();
  const listeners: (() => void)[] = [];
  const drift = (): number => clock.now().getTime() - clock.monotonicMs();
  let trouble: string | null = null;
  let driftAtLook = Number.NaN;
  let underWay: Promise<void> | null = null;

  const judge = (skew: ClockSkew): void => {
    meter.set('recalld_clock_skew_seconds', {}, skew.seconds);
    const before = trouble;
    trouble = isClockRight(skew, before === null) ? null : clockTrouble(skew);
    if (before === null && trouble !== null)
      logger.error(trouble, { event: 'clock_wrong', skew_seconds: skew.seconds });
    if (before === null || trouble !== null) return;
    logger.info('the clock of this machine is right again', { skew_seconds: skew.seconds });
    for (const then of listeners) then();
  };
  const compare = async (): Promise<void> => {
    const driftNow = drift();
    try {
      judge(clockSkew(await look()));
      driftAtLook = driftNow;
    } catch (error) {
      logger.debug('the clock of the database could not be read', { reason: messageOf(error) });
    }
  };
  const lookNow = (): Promise<void> => {
    underWay ??= compare().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  const goOn = async (): Promise<void> => {
    const { signal } = stopping;
    while (!signal.aborted) {
      await clock.sleep(trouble === null ? LOOK_MS : LOOK_WHILE_WRONG_MS, signal).catch(() => undefined);
      if (!signal.aborted) await lookNow();
    }
  };

  await lookNow();
  const watching = goOn();
  return {
    trouble: () => trouble,
    async isRight() {
      if (!(Math.abs(drift() - driftAtLook) < SET_MS)) await lookNow();
      return trouble === null;
    },
    whenRightAgain: (then) => void listeners.push(then),
    async stop() {
      stopping.abort(new Error('the daemon stops'));
      await watching;
    },
  };
}
