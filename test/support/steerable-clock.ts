/** A clock whose time stands still until a test moves it. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/core/time.ts';
import { NOON } from './builders.ts';

interface Sleeper {
  readonly wakesAt: number;
  wake(): void;
}

/** After this number of event loop turns in which nothing sleeps and nothing ends, the test is reported as hanging. */
const IDLE_TURNS = 200;

export class SteerableClock implements Clock {
  #elapsedMs = 0;
  readonly #start: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start: Date = NOON) {
    this.#start = start.getTime();
  }

  now(): Date {
    return new Date(this.#start + this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    // Many sleepers may share one signal; each sleeper removes its listener when it wakes.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const sleeper = {
        wakesAt: this.#elapsedMs + ms,
        wake: (): void => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the time, waking sleepers in order. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    await nextTurn();
    for (let next = this.#next(); next !== null && next.wakesAt <= until; next = this.#next()) await this.#wake(next);
    this.#elapsedMs = until;
  }

  /**
   * Lets time jump from one sleeper to the next until `work` has ended; hours pass instantly.
   * @throws Error if nothing sleeps and `work` does not end
   */
  async until<T>(work: Promise<T>): Promise<T> {
    const state = { hasEnded: false };
    const end = (): void => {
      state.hasEnded = true;
    };
    work.then(end, end);
    let idleTurns = 0;
    while (idleTurns < IDLE_TURNS) {
      await nextTurn();
      if (state.hasEnded) return work;
      const next = this.#next();
      idleTurns = next === null ? idleTurns + 1 : 0;
      if (next !== null) await this.#wake(next);
    }
    throw new Error('the work waits for something else than the clock');
  }

  #next(): Sleeper | null {
    let first: Sleeper | null = null;
    for (const sleeper of this.#sleepers) if (first === null || sleeper.wakesAt < first.wakesAt) first = sleeper;
    return first;
  }

  async #wake(sleeper: Sleeper): Promise<void> {
    this.#sleepers.delete(sleeper);
    this.#elapsedMs = Math.max(this.#elapsedMs, sleeper.wakesAt);
    sleeper.wake();
    await nextTurn();
  }
}
