/** How many explanations a caller of the API may have made within a minute: each asks the retriever about three times. */
import { RecalldError } from '../../core/errors.ts';
import { type Clock, MINUTE_MS } from '../../core/time.ts';

/** Queries that are explained to one caller within a minute. */
export const MAX_EXPLAINED_PER_MINUTE = 60;

export type ExplainBudget = ReturnType<typeof createExplainBudget>;

interface Spent {
  readonly since: number;
  readonly queries: number;
}

export function createExplainBudget(clock: Pick<Clock, 'monotonicMs'>) {
  const spent = new Map<string, Spent>();
  return {
    /**
     * Counts queries that are about to be explained, at most MAX_EXPLAINED_PER_MINUTE of one call.
     *
     * @param caller the name of a key, or what stands for a caller without one
     * @throws RecalldError explanations_limited, and counts nothing, when they are more than the minute has left
     */
    spend(caller: string, queries: number): void {
      const now = clock.monotonicMs();
      // Callers hold good keys, so that there are few; those whose minute is over are forgotten.
      for (const [name, { since }] of spent) if (now - since >= MINUTE_MS) spent.delete(name);
      const before = spent.get(caller) ?? { since: now, queries: 0 };
      const after = before.queries + Math.min(queries, MAX_EXPLAINED_PER_MINUTE);
      if (after > MAX_EXPLAINED_PER_MINUTE)
        throw new RecalldError(
          'explanations_limited',
          `More than ${MAX_EXPLAINED_PER_MINUTE} explained queries within a minute; wait as Retry-After says, or run \`recalld explain\` beside the daemon.`,
        );
      spent.set(caller, { since: before.since, queries: after });
    },
  };
}
