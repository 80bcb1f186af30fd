/** What the looks of a round work with, and what they store as they go. */
import type { Guest } from './guest.ts';
import type { IndexDeps, IndexPlan } from './plan.ts';
import type { Round, Step } from './rounds-table.ts';

/** One phase of a round, at work. */
export interface Look {
  readonly deps: IndexDeps;
  readonly plan: IndexPlan;
  readonly round: Round;
  readonly guest: Guest;
  readonly signal: AbortSignal;
  /** Stores a step as a whole; a process that ends behind it goes on from its position. */
  readonly save: (step: Step) => Promise<void>;
}

/** Ids in one question to the store. */
export const IDS_PER_CALL = 1000;

/** Documents that were found before are looked at again, so many of a kind. */
export const LOOKED_AT_AGAIN = 500;

/** Which of these are in the store. */
export async function inStore({ plan, guest, signal }: Look, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const there = new Set<string>();
  for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
    const portion = ids.slice(start, start + IDS_PER_CALL);
    for (const id of await guest.ask('look-up of ids', () => plan.store.existing(portion, signal))) there.add(id);
  }
  return there;
}

/** What changed since then may still be on its way. */
export function settledUntil({ deps, plan }: Look): Date {
  return new Date(deps.clock.now().getTime() - plan.lateAfterMs);
}
