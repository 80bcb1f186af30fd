/**
 * Limits how many explanations a caller gets per minute, because each explanation sends two or three queries to the
 * retriever.
 */
import { RecalldError } from '../../core/errors.ts';
import { type Clock, MINUTE_MS } from '../../core/time.ts';

/** Maximum number of explained queries per caller and minute. */
export const MAX_EXPLAINED_PER_MINUTE = 60;

export type ExplainBudget = ReturnType<typeof createExplainBudget>;

export function createExplainBudget(clock: Clock) {
  const spent = new Map<string, { readonly since: number; readonly queries: number }>();
  return {
    /**
     * Counts queries before they are explained. A caller can have at most MAX_EXPLAINED_PER_MINUTE queries explained
     * per minute.
     *
     * @param caller name of an API key, or a substitute if the caller has no key
     * @throws RecalldError explanations_limited if the queries would exceed the limit; they are then not counted
     */
    spend(caller: string, queries: number): void {
      const now = clock.monotonicMs();
      // Removes callers whose one-minute window has ended. The loop is short, because callers need a valid key and are
      // therefore few.
      for (const [name, { since }] of spent) if (now - since >= MINUTE_MS) spent.delete(name);
      const before = spent.get(caller) ?? { since: now, queries: 0 };
      const after = before.queries + Math.min(queries, MAX_EXPLAINED_PER_MINUTE);
      if (after > MAX_EXPLAINED_PER_MINUTE)
        throw new RecalldError(
          'explanations_limited',
          `At most ${MAX_EXPLAINED_PER_MINUTE} queries may be explained per minute. Wait as long as Retry-After requires, or run \`recalld explain\` on the host of the daemon.`,
        );
      spent.set(caller, { since: before.since, queries: after });
    },
  };
}
