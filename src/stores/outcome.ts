/** From code that throws to the outcomes of the port. */
import type { StoreOutcome } from './vector-store.ts';

type Refusal =
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Ends the work of one method of a store with an outcome other than `ok`. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.kind === 'failed' ? refusal.message : refusal.reason);
    this.refusal = refusal;
  }
}

/** @param reason one sentence: what the store cannot do, and why */
export function unsupported(reason: string): Refused {
  return new Refused({ kind: 'unsupported', reason });
}

/** @param message one sentence that names store, call and way out, without a secret or a vector */
export function failed(code: string, message: string): Refused {
  return new Refused({ kind: 'failed', code, message });
}

/** The code of a failure that was thrown; null for anything else. */
export function failureCode(error: unknown): string | null {
  return error instanceof Refused && error.refusal.kind === 'failed' ? error.refusal.code : null;
}

/** Whether a code says that the store did not answer or had no time, and not that something asked of it is wrong. */
export function isAway(code: string): boolean {
  return /^(timeout|connection_\w+|host_unreachable|dns_\w+|tls_error|busy|rate_limited|too_many_connections|http_429|http_5\d\d)$/.test(
    code,
  );
}

/** Adds up how long the calls took that belong to the answer, without waits for a turn or for a retry. */
interface Stopwatch {
  latencyMs: number;
}

/** What every call of one method needs. */
export interface Attempt {
  readonly signal: AbortSignal;
  readonly stopwatch: Stopwatch;
  /** How many times `timeout_ms` each call may take. */
  readonly patience: number;
}

/** Patience of counts, samples and exact searches: they read the whole store, and no user waits for them. */
export const SCAN_PATIENCE = 30;

/**
 * Runs one method of a store. What `work` returns is `ok`, a Refused that it throws is the outcome; anything else
 * goes on to the caller: the reason of the signal, or a bug.
 */
export async function outcomeOf<Value>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<Value>,
): Promise<StoreOutcome<Value>> {
  signal.throwIfAborted();
  const stopwatch = { latencyMs: 0 };
  try {
    const value = await work({ signal, stopwatch, patience: 1 });
    return { kind: 'ok', value, latencyMs: stopwatch.latencyMs };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { refusal } = error;
    return refusal.kind === 'failed' ? { ...refusal, latencyMs: stopwatch.latencyMs } : refusal;
  }
}

/** As outcomeOf, for a method that reads the whole store, with the patience of a scan. */
export function outcomeOfScan<Value>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<Value>,
): Promise<StoreOutcome<Value>> {
  return outcomeOf(signal, (attempt) => work({ ...attempt, patience: SCAN_PATIENCE }));
}

/** A vector whose length is not that of the store: the embedding model is another one. */
export function dimensionMismatch(service: string, expected: number, got: number): Refused {
  const wayOut = 'the embedder of the config must be the model that filled the store';
  return failed(
    'dimension_mismatch',
    `${service} was asked for the neighbours of ${got} numbers but holds vectors of ${expected}; ${wayOut}.`,
  );
}
