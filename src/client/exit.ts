/** What has not left yet when the host's process ends: it is sent, for a moment, and what stays is told. */
import process from 'node:process';

/** One client, as far as the end of the process concerns it. */
export interface Leaving {
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
