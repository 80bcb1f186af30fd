import { systemClock } from '../system-clock.ts';

/** A clock that the story moves on, so that days pass in seconds; in between it goes as any other. */
export class StoryClock {
  #setTo: number;
  #setAtMs = systemClock.monotonicMs();

  constructor(start: Date) {
    this.#setTo = start.getTime();
  }

  set(now: Date): void {
    this.#setTo = now.getTime();
    this.#setAtMs = systemClock.monotonicMs();
  }

  now(): Date {
    return new Date(this.#setTo + systemClock.monotonicMs() - this.#setAtMs);
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
}
