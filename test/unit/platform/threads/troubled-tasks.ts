/** Tasks that fail in every way that a thread can fail. */
export const tasks = {
  echo: (text: string) => text,
  refuse: (text: string) => {
    throw new RangeError(text);
  },
  /** Responds immediately, and throws an error once the flag is set. */
  breakLater: (flag: Int32Array) => {
    whenSet(flag, () => {
      throw new Error('broken');
    });
    return 'answered';
  },
  /** Responds immediately, and ends the thread once the flag is set. */
  endLater: (flag: Int32Array) => {
    whenSet(flag, () => process.exit());
    return 'answered';
  },
  endNow: (code: number) => process.exit(code),
  turnForEver: () => {
    for (;;);
  },
} as const;

function whenSet(flag: Int32Array, act: () => void): void {
  setInterval(() => {
    if (Atomics.load(flag, 0) === 1) act();
  }, 1);
}
