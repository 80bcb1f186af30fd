/** What was last read from the database, kept in memory and read anew behind the back of those who ask for it. */

import type { Clock } from '../clock.ts';
import { messageOf } from '../text/error-message.ts';

/** Whoever asks for what is older sets off the next reading, and does not wait for it. */
const ASKED_AGE_MS = 1000;
/** Also when nobody asks, so that the first who does gets something. */
const REFRESH_MS = 10_000;

export interface Snapshot<T> {
  /** Null before the first reading. */
  latest(): T | null;
  /** Since the rows were asked for; before the first of them since the start. */
  ageMs(): number;
  /** Resolves when a reading that is under way, or else a new one, has ended in whichever way. */
  refresh(): Promise<void>;
  /** Ends the readings; one that is under way is not waited for. */
  close(): void;
}

/**
 * Begins to read at once. Of readings there is never more than one under way, however many ask and however long the
 * database takes. Does not keep the process alive.
 *
 * @param onFailure told why a reading failed; what was read before it stays
 */
export function createSnapshot<T>(
  read: () => Promise<T>,
  clock: Clock,
  onFailure: (reason: string) => void,
): Snapshot<T> {
  let latest: { readonly value: T; readonly askedAtMs: number } | null = null;
  let closed = false;
  const startedAtMs = clock.monotonicMs();
  const readOnce = async (): Promise<void> => {
    const askedAtMs = clock.monotonicMs();
    try {
      latest = { value: await read(), askedAtMs };
    } catch (error) {
      if (!closed) onFailure(messageOf(error));
    }
  };
  let reading: Promise<void> | null = null;
  const refresh = (): Promise<void> => {
    if (closed) return Promise.resolve();
    reading ??= readOnce().finally(() => {
      reading = null;
    });
    return reading;
  };
  const ageMs = (): number => clock.monotonicMs() - (latest?.askedAtMs ?? startedAtMs);
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  timer.unref();
  void refresh();
  return {
    latest() {
      if (ageMs() > ASKED_AGE_MS) void refresh();
      return latest === null ? null : latest.value;
    },
    ageMs,
    refresh,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
