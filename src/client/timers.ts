/** Waiting that never keeps the host's process alive. */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Calls `act` once after a delay, unless the returned function is called before. */
export function startTimer(act: () => void, delayMs: number): () => void {
  const timer = setTimeout(act, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Resolves once the host has had its turn: input, output and timers that are due. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve).unref();
  });
}

/** A wait of one caller, that others can cut short. */
export class Pause {
  #end: (() => void) | undefined;

  /** Resolves after the delay, or at the next `end`; without a delay only then. */
  wait(delayMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = delayMs === undefined ? undefined : startTimer(() => this.end(), delayMs);
      this.#end = () => {
        cancel?.();
        resolve();
      };
    });
  }

  /** Ends the wait that is going on, if there is one. */
  end(): void {
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }
}
