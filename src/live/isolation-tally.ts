/** Evaluates the isolation rules for the queries in one request, and sums the results. */
import { HOUR_MS } from '../core/time.ts';
import type { PersonalData } from './privacy/personal-data.ts';
import { evaluateRule, type ParsedRule, type UncheckedReason } from './rules/isolation.ts';
import type { LiveQuery } from './rules/live-query.ts';
import type { IsolationArrival, IsolationCount, StoredViolation } from './sql/isolation-rows.ts';

interface UncheckedRule {
  readonly rule: string;
  readonly reason: UncheckedReason;
}

const none: readonly UncheckedRule[] = [];

export type IsolationTally = ReturnType<typeof createIsolationTally>;

export function createIsolationTally(receivedAt: Date) {
  const hour = new Date(Math.floor(receivedAt.getTime() / HOUR_MS) * HOUR_MS);
  const violations: StoredViolation[] = [];
  // An array is faster than a map here, because a request rarely involves more than a few rules and outcomes.
  const counts: { -readonly [Key in keyof IsolationCount]: IsolationCount[Key] }[] = [];

  const add = (pipeline: string, rule: string, outcome: IsolationCount['outcome']): void => {
    const count = counts.find((one) => one.rule === rule && one.outcome === outcome && one.pipeline === pipeline);
    if (count === undefined) counts.push({ pipeline, rule, hour, outcome, queries: 1 });
    else count.queries += 1;
  };
  return {
    /** Evaluates all rules of the pipeline. @returns the rules that could not be checked */
    add(
      query: LiveQuery,
      { isolation, personalData }: { readonly isolation: readonly ParsedRule[]; readonly personalData: PersonalData },
    ): readonly UncheckedRule[] {
      const { pipeline, id: queryId, traceId } = query;
      let unchecked: UncheckedRule[] | null = null;
      for (const rule of isolation) {
        const found = evaluateRule(rule, query);
        if (found === null || typeof found === 'string') add(pipeline, rule.name, found ?? 'allowed');
        if (typeof found === 'string') {
          unchecked ??= [];
          unchecked.push({ rule: rule.name, reason: found });
        } else if (found !== null) {
          const { userHash } = personalData.hashPeople(query);
          const occurredAt = query.occurredAt ?? receivedAt;
          violations.push({ ...found, pipeline, queryId, receivedAt, occurredAt, traceId, userHash });
        }
      }
      return unchecked ?? none;
    },
    /** Returns undefined if no rule was evaluated. */
    arrival: (): IsolationArrival | undefined =>
      violations.length + counts.length === 0 ? undefined : { violations, counts },
  };
}
