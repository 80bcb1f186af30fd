/** What a reply of the daemon means for the batch that was sent. */
import type { Reply } from './connection.ts';

/** Nothing is left to do: accepted but for `rejected`, which counts items by code. */
export interface Settled {
  readonly kind: 'settled';
  readonly rejected: ReadonlyMap<string, number>;
  readonly duplicates: number;
  readonly error: string | null;
}

/** The same items again in smaller batches. */
export interface TooLarge {
  readonly kind: 'too_large';
  readonly error: string;
}

export type Verdict =
  | Settled
  | TooLarge
  /** The same batch again, later. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryAfter: string | null }
  /** The same batch again, at once, without gzip. */
  | { readonly kind: 'encoding_refused'; readonly error: string };

const RETRYABLE = new Set([429, 502, 503, 504]);

/** More codes than the daemon has; what is beyond is counted together. */
const MAX_CODES = 32;

/** Judges the reply to a batch of `items` items. */
export function judgeReply(reply: Reply, items: number): Verdict {
  if (reply.kind === 'failure') return { kind: 'retry', error: reply.reason, retryAfter: null };
  const { status, retryAfter } = reply;
  const error = `HTTP ${status}`;
  if (RETRYABLE.has(status)) return { kind: 'retry', error, retryAfter };
  if (status === 413) return { kind: 'too_large', error };
  if (status === 415) return { kind: 'encoding_refused', error };
  const body = parse(reply.body);
  if (status >= 200 && status < 300) {
    return {
      kind: 'settled',
      rejected: countCodes(body['rejected'], items),
      duplicates: countOf(body['duplicates'], items),
      error: null,
    };
  }
  return refused(items, status, countCodes(body['rejected'], items));
}

/** The whole batch is refused: by the codes of its items as far as the answer names them. */
export function refused(
  items: number,
  status: number,
  named: ReadonlyMap<string, number> = new Map(),
): Settled {
  const unnamed = items - [...named.values()].reduce((sum, count) => sum + count, 0);
  const rejected = new Map(named);
  if (unnamed > 0) rejected.set(`http_${status}`, unnamed);
  return { kind: 'settled', rejected, duplicates: 0, error: `HTTP ${status}` };
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // An answer of something in between; its status is all that we can use.
  }
  return {};
}

function countCodes(rejected: unknown, items: number): Map<string, number> {
  const counts = new Map<string, number>();
  if (!Array.isArray(rejected)) return counts;
  for (const rejection of rejected.slice(0, items) as unknown[]) {
    const known = codeOf(rejection);
    const code = counts.has(known) || counts.size < MAX_CODES ? known : 'other';
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return counts;
}

function codeOf(rejection: unknown): string {
  if (typeof rejection !== 'object' || rejection === null || !('code' in rejection)) return 'other';
  const { code } = rejection;
  return typeof code === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : 'other';
}

function countOf(value: unknown, most: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? Math.min(value, most) : 0;
}
