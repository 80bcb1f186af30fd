/**
 * What has not left yet when the host's process ends: it is sent, for a moment, and what stays is told. Until then
 * nothing that waits keeps the process alive, but where it says so.
 */
import process from 'node:process';
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** One client, as far as the end of the process concerns it. */
interface Leaving {
  /** Waiting or under way. */
  pending(): { readonly queries: number; readonly feedback: number };
  flush(limitMs: number): Promise<unknown>;
  /** Drops what is left; why the last request failed, null when none did. */
  giveUp(): string | null;
  /** False where the host is told of each drop itself. */
  readonly isSilent: boolean;
}

/** Longest that a process that has nothing else to do waits for a daemon. */
const EXIT_FLUSH_MS = 2000;

const open = new Set<Leaving>();
let isListening = false;
let isFlushed = false;

/** @returns a function that forgets the client */
export function watchExit(client: Leaving): () => void {
  open.add(client);
  isFlushed = false;
  if (!isListening) {
    isListening = true;
    process.on('beforeExit', flushOnce);
    process.on('exit', tell);
  }
  return () => void open.delete(client);
}

/** The event comes again when the flush is over; then the process may end. */
function flushOnce(): void {
  const left = [...open].filter(isPending);
  if (isFlushed || left.length === 0) return;
  isFlushed = true;
  for (const client of left) void client.flush(EXIT_FLUSH_MS);
}

function tell(): void {
  for (const client of [...open].filter(isPending)) {
    const { queries, feedback } = client.pending();
    const reason = client.giveUp();
    if (client.isSilent) continue;
    const why = reason === null ? 'the process ended before they were sent' : reason;
    process.stderr.write(`recalld: ${queries} queries and ${feedback} feedback items were not delivered: ${why}.\n`);
  }
}

function isPending(client: Leaving): boolean {
  const { queries, feedback } = client.pending();
  return queries + feedback > 0;
}

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
