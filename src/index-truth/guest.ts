/** Asks a store politely: at most so many calls a second, and none once it has slowed down. */
import type { Clock } from '../clock.ts';
import { createRateLimiter } from '../density/search-store.ts';
import type { StoreOutcome } from '../stores/vector-store.ts';
import { hasSlowedDown } from './rules/pace.ts';

/** Why a phase of a round cannot go on: now, or at all where the store cannot do what it needs. */
export class PutOff extends Error {
  readonly reason: 'unsupported' | 'store_failed' | 'store_slow' | 'retriever_failed' | 'embedder_failed';
  /** Of a store that failed. */
  readonly code: string;

  constructor(reason: PutOff['reason'], message: string, code = '') {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

export interface Guest {
  /** @throws PutOff, and the reason of `signal` */
  ask<Value>(what: string, call: () => Promise<StoreOutcome<Value>>): Promise<Value>;
  /** Waits for a turn to ask something else that answers for the store. */
  readonly turn: () => Promise<void>;
}

/** Latencies of a kind of call are compared among themselves. */
const KEPT_LATENCIES = 1000;

export function createGuest(clock: Clock, callsPerSecond: number, signal: AbortSignal): Guest {
  const pace = createRateLimiter(clock, callsPerSecond);
  const latencies = new Map<string, number[]>();
  return {
    turn: () => pace(signal),
    async ask(what, call) {
      await pace(signal);
      const outcome = await call();
      if (outcome.kind === 'unsupported') throw new PutOff('unsupported', outcome.reason);
      if (outcome.kind === 'failed') throw new PutOff('store_failed', outcome.message, outcome.code);
      const known = latencies.get(what) ?? [];
      latencies.set(what, known);
      known.push(outcome.latencyMs);
      if (known.length > KEPT_LATENCIES) known.splice(KEPT_LATENCIES / 2, 1);
      if (hasSlowedDown(known))
        throw new PutOff('store_slow', `The store takes much longer for each ${what} than before.`);
      return outcome.value;
    },
  };
}
