/** What is sampled together: the live queries of one session, so that a session is kept or left whole. */
import { hash } from 'node:crypto';

/** The queries that share one draw. Kinds never mix: the session `7` and the trace `7` are two units. */
export interface SamplingUnit {
  readonly kind: 'session' | 'trace' | 'query';
  readonly id: string;
}

/** Separates these hashes from every other use of SHA-256 on the same ids. */
const DOMAIN = 'recalld/sampling/v1';

/**
 * The unit of a live query: its session, else its trace, else the query itself. A blank id counts as none, because
 * clients send one for everybody who has no session, and all of them would be kept or left together.
 */
export function samplingUnit(query: {
  readonly id: string;
  readonly sessionId: string | null;
  readonly traceId: string | null;
}): SamplingUnit {
  if (query.sessionId !== null && query.sessionId.trim() !== '')
    return { kind: 'session', id: query.sessionId };
  if (query.traceId !== null && query.traceId.trim() !== '') return { kind: 'trace', id: query.traceId };
  return { kind: 'query', id: query.id };
}

/**
 * The draw of a unit: the first 53 bits of SHA-256 of (domain, pipeline, kind, id), as a number in [0, 1).
 *
 * It is the same on every replica and every retry, and over units it behaves as independent uniform draws. A unit is
 * kept iff its hash is below its probability, so that raising a probability never drops a unit that was kept. All
 * queries of a unit share it, and two units share one with probability 2^-53, so it also names the unit where
 * estimates need one (`SampledValue.cluster`) without the session id being stored.
 *
 * Whoever samples upstream must not draw by this very hash: probabilities multiply only between independent draws.
 */
export function samplingHash(pipeline: string, unit: SamplingUnit): number {
  // JSON keeps the four parts apart whatever characters they hold.
  const digest = hash('sha256', JSON.stringify([DOMAIN, pipeline, unit.kind, unit.id]), 'hex');
  const [high, low] = [Number.parseInt(digest.slice(0, 8), 16), Number.parseInt(digest.slice(8, 16), 16)];
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}
