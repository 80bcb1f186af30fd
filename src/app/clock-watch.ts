/**
 * Compares the clock of this machine with that of the database. A wrong clock would start runs at the wrong times,
 * report future ticks as missed, and end runs that have just begun.
 */

import type { Context } from '../core/context.ts';
import { messageOf } from '../core/errors.ts';
import { type ClockLook, type ClockSkew, clockSkew, clockTrouble, isClockRight } from '../math/schedule/clock-skew.ts';
import { sharedRun } from '../platform/threads/wait.ts';

export type ClockWatch = Awaited<ReturnType<typeof watchClock>>;

const INTERVAL_MS = 120_000;
/**
 * Interval between comparisons while the clock is wrong. It is shorter than `INTERVAL_MS`, because no scheduled run
 * starts until the clock is correct.
 */
const INTERVAL_WHILE_WRONG_MS = 15_000;
/**
 * Maximum change, in milliseconds, of the wall clock relative to the monotonic clock between two comparisons. A larger
 * change means that the wall clock was set: NTP slewing changes it far less.
 */
const SET_MS = 5000;

/** Resolves after the first comparison succeeds or fails. @param read compares the clocks */
export async function watchClock({ clock, logger, meter }: Context, read: () => Promise<ClockLook>) {
  const stopping = new AbortController();
  const listeners: (() => void)[] = [];
  const drift = (): number => clock.now().getTime() - clock.monotonicMs();
  let problem: string | null = null;
  let lastDrift = Number.NaN;

  const evaluate = (skew: ClockSkew): void => {
    meter.set('recalld_clock_skew_seconds', {}, skew.seconds);
    const before = problem;
    problem = isClockRight(skew, before === null) ? null : clockTrouble(skew);
    if (before === null && problem !== null)
      logger.error(problem, { event: 'clock_wrong', skew_seconds: skew.seconds });
    if (before === null || problem !== null) return;
    logger.info('the clock of this machine is correct again', { skew_seconds: skew.seconds });
    for (const then of listeners) then();
  };
  const compareNow = sharedRun(async (): Promise<void> => {
    const driftNow = drift();
    try {
      evaluate(clockSkew(await read()));
      lastDrift = driftNow;
    } catch (error) {
      logger.debug('could not read the database clock', { reason: messageOf(error) });
    }
  });
  const compareRegularly = async (): Promise<void> => {
    const { signal } = stopping;
    while (!signal.aborted) {
      await clock.sleep(problem === null ? INTERVAL_MS : INTERVAL_WHILE_WRONG_MS, signal).catch(() => undefined);
      if (!signal.aborted) await compareNow();
    }
  };

  await compareNow();
  const watching = compareRegularly();
  return {
    /** Returns the problem as a sentence; null while the clock is correct. */
    problem: () => problem,
    /**
     * Returns true if the clock is correct. Compares the clocks again if the local clock was set after the last
     * comparison.
     */
    async isRight(): Promise<boolean> {
      if (!(Math.abs(drift() - lastDrift) < SET_MS)) await compareNow();
      return problem === null;
    },
    /** Registers a callback that runs each time a wrong clock becomes correct. */
    whenRightAgain: (then: () => void): void => void listeners.push(then),
    async stop(): Promise<void> {
      stopping.abort(new Error('the daemon stops'));
      await watching;
    },
  };
}
