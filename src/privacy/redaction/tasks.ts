/** What the thread that redacts can be asked. */
import type { CustomPattern } from '../rules/custom-pattern.ts';
import { createRedactor, type Redactor } from '../rules/redactor.ts';

export interface TextToRedact {
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
