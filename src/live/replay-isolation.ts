/** Evaluates isolation rules on stored samples, so that changed rules can be tested before they are enabled. */

import type { Context } from '../core/context.ts';
import type { TimeSpan } from '../core/time.ts';
import { evaluateRule, noneUnchecked, type ParsedRule, type Violation } from './rules/isolation.ts';

export interface SampledViolation extends Omit<Violation, 'rule'> {
  readonly queryId: string;
  readonly occurredAt: Date;
}

export type ReplayedPipeline = Awaited<ReturnType<typeof replayIsolation>>;

export type ReplayedRule = ReturnType<typeof newTally>;

/** @param limit maximum number of listed violations per rule */
export async function replayIsolation(
  { db }: Context,
  { name: pipeline, isolation }: { readonly name: string; readonly isolation: readonly ParsedRule[] },
  during: TimeSpan,
  limit: number,
  signal: AbortSignal,
) {
  const rules = isolation.map((rule) => ({ rule, found: newTally(rule) }));
  let queries = 0;
  for await (const samples of db.live.isolation.samples(pipeline, during)) {
    signal.throwIfAborted();
    queries += samples.length;
    for (const { id: queryId, occurredAt, probability, segments, results } of samples) {
      for (const { rule, found } of rules) {
        const outcome = evaluateRule(rule, { segments, results });
        if (outcome === null) found.allowed += 1;
        else if (typeof outcome === 'string') found.unchecked[outcome] += 1;
        else {
          found.violated += 1;
          found.estimatedViolations += 1 / probability;
          const { rule: _rule, ...violation } = outcome;
          if (found.violations.length < limit) found.violations.push({ queryId, occurredAt, ...violation });
        }
      }
    }
  }
  // `queries`: number of samples.
  return { pipeline, queries, rules: rules.map(({ found }) => found) };
}

function newTally({ name: rule }: ParsedRule) {
  return {
    rule,
    /** Number of sampled queries whose results the rule allows. */
    allowed: 0,
    violated: 0,
    /** Estimate for all live traffic: the sum of the inverse sampling probabilities of the violating queries. */
    estimatedViolations: 0,
    unchecked: { ...noneUnchecked },
    /** The first violations, ordered by day of arrival. */
    violations: [] as SampledViolation[],
  };
}
