/** What all callers together may make the process hold: the bytes of bodies under way, and of connections without a key. */

export interface MemoryBudget {
  /** Counts so many bytes more, unless they are too many; then it says whose share is used up. */
  take(bytes: number, isKeyless: boolean): 'taken' | 'all is held' | 'the keyless share is held';
  giveBack(bytes: number, isKeyless: boolean): void;
}

/** Some seconds of reading. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Of those who have shown no key, which leaves the rest to those who have. */
const MOST_KEYLESS_BYTES = 64 * 1024 * 1024;

export function createMemoryBudget(): MemoryBudget {
  let all = 0;
  let keyless = 0;
  return {
    take(bytes, isKeyless) {
      if (all + bytes > MOST_BYTES) return 'all is held';
      if (isKeyless && keyless + bytes > MOST_KEYLESS_BYTES) return 'the keyless share is held';
      all += bytes;
      if (isKeyless) keyless += bytes;
      return 'taken';
    },
    giveBack(bytes, isKeyless) {
      all -= bytes;
      if (isKeyless) keyless -= bytes;
    },
  };
}
