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

export class IsolationTally {
  private readonly now: Date;
  private readonly hour: Date;
  private readonly violations: StoredViolation[] = [];
  /** An array is faster than a map here, because a request rarely involves more than a few rules and outcomes. */
  private readonly counts: { -readonly [Key in keyof IsolationCount]: IsolationCount[Key] }[] = [];

  constructor(now: Date) {
    this.now = now;
    this.hour = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  }

  /** Evaluates all rules of the pipeline. @returns the rules that could not be checked */
  add(
    query: LiveQuery,
    { isolation, personalData }: { readonly isolation: readonly ParsedRule[]; readonly personalData: PersonalData },
  ): readonly UncheckedRule[] {
    let unchecked: UncheckedRule[] | null = null;
    for (const rule of isolation) {
      const found = evaluateRule(rule, query);
      if (found === null) this.count(query.pipeline, rule.name, 'allowed');
      else if (typeof found === 'string') {
        this.count(query.pipeline, rule.name, found);
        unchecked ??= [];
        unchecked.push({ rule: rule.name, reason: found });
      } else {
        const { pipeline, id: queryId, occurredAt, traceId } = query;
        const { userHash } = personalData.hashPeople(query);
        const { now: receivedAt } = this;
        this.violations.push({
          ...found,
          pipeline,
          queryId,
          receivedAt,
          occurredAt: occurredAt ?? receivedAt,
          traceId,
          userHash,
        });
      }
    }
    return unchecked ?? none;
  }

  /** Returns undefined if no rule was evaluated. */
  arrival(): IsolationArrival | undefined {
    const { violations, counts } = this;
    return violations.length + counts.length === 0 ? undefined : { violations, counts };
  }

  private count(pipeline: string, rule: string, outcome: IsolationCount['outcome']): void {
    const count = this.counts.find((one) => one.rule === rule && one.outcome === outcome && one.pipeline === pipeline);
    if (count === undefined) this.counts.push({ pipeline, rule, hour: this.hour, outcome, queries: 1 });
    else count.queries += 1;
  }
}
