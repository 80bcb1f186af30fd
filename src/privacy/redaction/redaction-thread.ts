/** Redacts long texts in a thread of its own: one can be made to take a twentieth of a second. */
import { createThreadPool } from '../../threads/thread-pool.ts';
import type { TextToRedact, tasks } from './tasks.ts';

/** Two for each item of a request: its text, and what went wrong. */
const MOST_WAITING = 2000;

export interface RedactionThread {
  /** @throws RecalldError overloaded when too many wait */
  redact(text: TextToRedact): Promise<string>;
  close(): Promise<void>;
}

/** The thread starts with the first text. */
export function createRedactionThread(): RedactionThread {
  const pool = createThreadPool<typeof tasks>({
    folder: import.meta.dirname,
    threads: 1,
    mostWaiting: MOST_WAITING,
    refusal: 'Too many long texts wait to be redacted; send again later.',
  });
  return {
    redact: (text) => pool.run('redact', text, new AbortController().signal),
    close: () => pool.close(),
  };
}
