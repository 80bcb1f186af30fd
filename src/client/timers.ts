/** Waiting that does not keep the host's process alive, but where it says so. */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Calls `act` once after a delay, unless the returned function is called before. */
export function startTimer(act: () => void, delayMs: number): () => void {
  const timer = setTimeout(act, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Resolves with the promise, or after the delay without it. This wait alone does keep the process alive. */
export function waitAtMost(promise: Promise<unknown>, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    promise.then(end, end);
  });
}

/**
 * Resolves once the host has had its turn: input, output and timers that are due. It keeps the process alive for that
 * turn; were it unreferenced, the event loop would not wake up for it.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
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
