/** How often one caller may call. */

import { MINUTE_MS } from '../time.ts';

interface Window {
  count: number;
  readonly until: number;
}

/** Counts calls in minutes that begin with the first one of a caller. */
export interface CallLimit {
  /**
   * Counts a call.
   *
   * @param now in milliseconds, of a clock that only goes forward
   * @returns milliseconds until the caller may call again; null when it may now
   */
  count(caller: string, now: number): number | null;
}

/** @param maxCallers beyond which the one that was quiet longest is forgotten */
export function createCallLimit(maxPerMinute: number, maxCallers: number): CallLimit {
  const windows = new Map<string, Window>();
  let latest = '';
  return {
    count(caller, now) {
      let window = windows.get(caller);
      if (window === undefined || window.until <= now) window = { count: 0, until: now + MINUTE_MS };
      if (caller !== latest || window.count === 0) {
        windows.delete(caller);
        windows.set(caller, window);
        const [oldest] = windows.keys();
        if (windows.size > maxCallers && oldest !== undefined) windows.delete(oldest);
        latest = caller;
      }
      window.count += 1;
      return window.count > maxPerMinute ? window.until - now : null;
    },
  };
}
