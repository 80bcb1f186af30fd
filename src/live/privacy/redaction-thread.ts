/** Redacts long texts in a thread of its own: one can be made to take a twentieth of a second. */
import { createThreadPool } from '../../platform/threads/thread-pool.ts';
import type { CustomPattern } from './rules/detector.ts';
import { createRedactor, type Redactor } from './rules/redactor.ts';

interface TextToRedact {
  readonly text: string;
  /** Those of the pipeline. */
  readonly patterns: readonly CustomPattern[];
}

/** By their patterns, of which the config has a few. */
const redactors = new Map<string, Redactor>();

export const tasks = {
  redact({ text, patterns }: TextToRedact): string {
    const key = JSON.stringify(patterns);
    const redact = redactors.get(key) ?? createRedactor({ patterns });
    redactors.set(key, redact);
    return redact(text).text;
  },
} as const;

/** Two for each item of a request: its text, and what went wrong. */
const MAX_WAITING = 2000;

export type RedactionThread = ReturnType<typeof createRedactionThread>;

/** The thread starts with the first text. */
export function createRedactionThread() {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    mostWaiting: MAX_WAITING,
    refusal: 'Too many long texts wait to be redacted; send again later.',
  });
  return {
    /** @throws RecalldError overloaded when too many wait */
    redact: (text: TextToRedact): Promise<string> => pool.run('redact', text, new AbortController().signal),
    close: (): Promise<void> => pool.close(),
  };
}
