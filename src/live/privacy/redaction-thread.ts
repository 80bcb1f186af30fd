/** Redacts long texts in a worker thread, because a hostile text can take 50 ms. */
import { createThreadPool } from '../../platform/threads/thread-pool.ts';
import type { CustomPattern } from './rules/detector.ts';
import { createRedactor, type Redactor } from './rules/redactor.ts';

interface TextToRedact {
  readonly text: string;
  readonly patterns: readonly CustomPattern[];
}

const redactors = new Map<string, Redactor>();

export const tasks = {
  redact({ text, patterns }: TextToRedact): string {
    const key = JSON.stringify(patterns);
    const redact = redactors.get(key) ?? createRedactor(patterns);
    redactors.set(key, redact);
    return redact(text);
  },
} as const;

/** Maximum number of waiting texts: two (the text and the error) for each item of the largest request. */
const MAX_WAITING = 2000;

export type RedactionThread = ReturnType<typeof createRedactionThread>;

/** Creates a worker thread that starts with the first text. */
export function createRedactionThread() {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    maxWaiting: MAX_WAITING,
    refusal: 'Too many long texts are waiting to be redacted; send this request again later.',
  });
  return {
    /** @throws RecalldError overloaded if too many texts are queued */
    redact: (text: TextToRedact): Promise<string> => pool.run('redact', text, new AbortController().signal),
    close: (): Promise<void> => pool.close(),
  };
}
