/**
 * Ticks that are stored in the end. One that could not be, because the database or the queue is away, is tried again
 * until the next one of its schedule is due, and then given up: after an outage each schedule stores its latest tick,
 * never a burst of them. While the clock of this machine is wrong there are no ticks at all.
 */

import type { Clock } from '../clock.ts';
import { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Meter } from '../metrics/meter.ts';
import type { Schedule } from '../queue/node-cron.ts';
import { type Cron, latestOccurrence } from '../schedule/occurrences.ts';
import { messageOf } from '../text/error-message.ts';
import type { ClockWatch } from './clock-watch.ts';

export interface TicksDeps {
  readonly schedule: Schedule;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Pick<Meter, 'increment'>;
  readonly clockWatch: Pick<ClockWatch, 'isRight' | 'whenRightAgain'>;
}

/** What is started by schedule. */
export interface Ticked {
  readonly cron: Cron;
  /** In words, for the log. */
  readonly what: string;
  /** The job that a tick comes to. */
  readonly job: string;
  /** Whether the latest planned time is made up for at the start, and when a wrong clock is right again. */
  readonly madeUpFor: boolean;
  /** Begins a tick. What it returns stores it, and goes on where it failed when it is called again. */
  readonly begin: (plannedAt: Date) => () => Promise<void>;
}

export interface Ticks {
  /** No tick starts or is tried again after this, and what is being stored has been. */
  stop(): Promise<void>;
}

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

export function startTicks(deps: TicksDeps, all: readonly Ticked[]): Ticks {
  const { schedule, clock, clockWatch, meter } = deps;
  const tickers = all.map((ticked) => ({ ...ticked, ...createTicker(deps, ticked) }));
  for (const { cron, job, tick } of tickers) {
    meter.increment('recalld_ticks_given_up_total', { task: job }, 0);
    schedule.every(cron, tick);
  }
  const makeUp = (): void => {
    for (const { cron, madeUpFor, tick } of tickers) if (madeUpFor) tick(latestOccurrence(cron, clock.now()));
  };
  makeUp();
  clockWatch.whenRightAgain(makeUp);
  return {
    async stop() {
      await schedule.stop();
      await Promise.all(tickers.map((ticker) => ticker.stop()));
    },
  };
}

interface Ticker {
  readonly tick: (plannedAt: Date) => void;
  readonly stop: () => Promise<void>;
}

function createTicker({ clock, clockWatch, logger, meter }: TicksDeps, { what, job, begin }: Ticked): Ticker {
  let newer = new AbortController();
  let underWay = Promise.resolve();

  const store = async (plannedAt: Date, signal: AbortSignal): Promise<void> => {
    const attempt = begin(plannedAt);
    const fields = { what, planned_at: plannedAt.toISOString() };
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      // What a clock that was ahead called planned is still to come.
      if (!(await clockWatch.isRight()) || plannedAt > clock.now()) return;
      try {
        await attempt();
        if (waitMs > FIRST_WAIT_MS) logger.info('a scheduled start was made up for', fields);
        return;
      } catch (error) {
        const reason = messageOf(error);
        if (error instanceof RecalldError && !error.retryable) {
          logger.error('a scheduled start failed', { what, reason });
          return;
        }
        if (waitMs === FIRST_WAIT_MS)
          logger.warn('a scheduled start failed and is tried again until the next is due', {
            ...fields,
            reason,
          });
      }
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
    if (!(signal.reason instanceof Date && signal.reason > plannedAt)) return;
    logger.error('a scheduled start was given up, since the next is due', fields);
    meter.increment('recalld_ticks_given_up_total', { task: job });
  };

  return {
    tick(plannedAt) {
      newer.abort(plannedAt);
      newer = new AbortController();
      const { signal } = newer;
      underWay = underWay.then(() => store(plannedAt, signal));
    },
    stop() {
      newer.abort(new Error('the daemon stops'));
      return underWay;
    },
  };
}
