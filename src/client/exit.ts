/**
 * Sends queued items for a short time when the host's process ends, and reports undelivered items. The functions in
 * this file do not keep the process alive, except where a comment says so.
 */
import process from 'node:process';
import { clearTimeout, setTimeout } from 'node:timers';

/** A client, as seen by the exit handler. */
interface ExitingClient {
  /** Number of items that are queued or being sent. */
  pending(): { readonly queries: number; readonly feedback: number };
  flush(limitMs: number): Promise<unknown>;
  /** Drops queued items. @returns why the last request failed; null if it succeeded */
  giveUp(): string | null;
  /** True if the host is not notified of drops. */
  readonly isSilent: boolean;
}

/** Maximum time that an otherwise idle process waits for a daemon. */
const EXIT_FLUSH_MS = 2000;

const open = new Set<ExitingClient>();
let isListening = false;
let isFlushed = false;

/** @returns a function that unregisters the client */
export function watchExit(client: ExitingClient): () => void {
  open.add(client);
  isFlushed = false;
  if (!isListening) {
    isListening = true;
    process.on('beforeExit', flushOnce);
    process.on('exit', tell);
  }
  return () => void open.delete(client);
}

/** `beforeExit` is emitted again after the flush; then the process may end. */
function flushOnce(): void {
  const pending = [...open].filter(isPending);
  if (isFlushed || pending.length === 0) return;
  isFlushed = true;
  for (const client of pending) void client.flush(EXIT_FLUSH_MS);
}

function tell(): void {
  for (const client of [...open].filter(isPending)) {
    const { queries, feedback } = client.pending();
    const reason = client.giveUp();
    if (client.isSilent) continue;
    const why = reason === null ? 'the process ended before they were sent' : reason;
    const lost = `${queries === 1 ? '1 query' : `${queries} queries`} and ${feedback} feedback ${feedback === 1 ? 'item' : 'items'}`;
    process.stderr.write(`recalld: ${lost} were not delivered: ${why}.\n`);
  }
}

function isPending(client: ExitingClient): boolean {
  const { queries, feedback } = client.pending();
  return queries + feedback > 0;
}

/** Calls `act` once after a delay, unless the returned function is called first. */
export function startTimer(act: () => void, delayMs: number): () => void {
  const timer = setTimeout(act, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/**
 * Resolves when the promise is fulfilled or rejected, or when the delay ends, whichever comes first. Unlike
 * `startTimer`, keeps the process alive while it waits.
 */
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

/** A wait that another caller can end early. */
export class Pause {
  #end: (() => void) | undefined;

  /** Resolves after the delay, or earlier if `end` is called; without a delay, only when `end` is called. */
  wait(delayMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = delayMs === undefined ? undefined : startTimer(() => this.end(), delayMs);
      this.#end = () => {
        cancel?.();
        resolve();
      };
    });
  }

  /** Ends the current wait, if there is one. */
  end(): void {
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }
}
