/** A clock that is set by hand, for work that also waits for real services: every sleep ends immediately. */
import type { Clock } from '../../src/core/time.ts';

export class HandClock implements Clock {
  #now: number;

  constructor(start: Date) {
    this.#now = start.getTime();
  }

  set(now: Date): void {
    this.#now = now.getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  monotonicMs(): number {
    return 0;
  }

  async sleep(_ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
  }
}
