/** Measures that need no judgments: the measures of retriever stages, and the size of the retrieved context. */

import type { ContextSize } from '../../core/text/context-size.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import {
  type CalibratedMember,
  type ClickRateOutcome,
  meanShare,
  queryRate,
  ratioTerm,
  sessionRatio,
} from './feedback/click-rates.ts';
import type { LiveStage } from './live-query.ts';

export interface ContextQuery extends CalibratedMember {
  /** Size of the retrieved texts; null unless all results have texts. */
  readonly context: ContextSize | null;
}

type Sized = CalibratedMember & { readonly context: ContextSize };

function sized(queries: readonly ContextQuery[]): Sized[] {
  return queries.flatMap((query) => (query.context === null ? [] : [{ ...query, context: query.context }]));
}

/** Mean share of the context that repeats an earlier result of the same query. */
export function repeatedContext(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanShare(sized(queries), ({ context }) => context.repeated);
}

export function contextCharacters(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanCount(sized(queries).map((query) => ({ ...query, value: query.context.characters })));
}

/** Mean number of results, over queries with results. */
export function resultsPerAnswer(
  queries: readonly (CalibratedMember & { readonly shown: number })[],
): ClickRateOutcome {
  return meanCount(queries.flatMap((query) => (query.shown === 0 ? [] : [{ ...query, value: query.shown }])));
}

/** Mean count per query or episode with a 95 % confidence interval (Student's t over sessions), never below 0. */
export function meanCount(queries: readonly (CalibratedMember & { readonly value: number })[]): ClickRateOutcome {
  const ratio = sessionRatio(queries.map((query) => ratioTerm(query, query.value, 1)));
  if (ratio.kind === 'insufficient_data') return ratio;
  const { value, variance, degreesOfFreedom, n, sessions } = ratio;
  const reach = variance === 0 ? 0 : studentTQuantile(0.975, degreesOfFreedom) * Math.sqrt(variance);
  return { kind: 'rate', value, low: Math.max(0, value - reach), high: value + reach, n, sessions };
}

/** A sampled query with its stages. Most queries have no stages. */
export interface StagedQuery extends CalibratedMember {
  readonly stages: readonly LiveStage[];
}

/**
 * Maximum number of stages that are measured; if there are more, the stages with the most samples are measured. The
 * number is limited, because services choose stage names freely.
 */
const MAX_NAMES = 12;
/** Minimum number of samples. With fewer samples, the 95th percentile is the largest value. */
export const MIN_TIMED = 20;

/** Measures of a stage; null if there are too few samples. */
export type MeasuredStage = ReturnType<typeof measureStages>[number];

/** Returns the measures of each stage, in the order of the stages; empty if no sample reports stages. */
export function measureStages(queries: readonly StagedQuery[]) {
  const staged = queries.filter(({ stages }) => stages.length > 0);
  return namesOf(staged).map((name) => {
    const own = staged.flatMap((query) => {
      const place = query.stages.findIndex((stage) => stage.name === name);
      const stage = query.stages[place];
      return stage === undefined ? [] : [{ ...query, stage, before: documentsBefore(query.stages, place) }];
    });
    const timed = own.flatMap((one) => (one.stage.latencyMs === null ? [] : [{ ...one, value: one.stage.latencyMs }]));
    const listed = own.flatMap((one) => (one.stage.documents === null ? [] : [{ ...one, value: one.stage.documents }]));
    const answered = listed.filter(({ stage }) => stage.ranks.length > 0);
    return {
      name,
      /** Number of sampled queries that report the stage. */
      n: own.length,
      latencyP95Ms: timed.length < MIN_TIMED ? null : percentile95(timed),
      /** Number of samples that report the time of the stage. */
      timed: timed.length,
      /** Mean number of distinct documents that the stage returns. */
      documents: boundedOf(meanCount(listed)),
      /**
       * Share of queries for which the stage returns nothing even though the previous stage returned documents. For the
       * first stage, this is the share of all queries for which the stage returns nothing.
       */
      emptied: boundedOf(queryRate(listed, ({ value, before }) => value === 0 && before !== 0)),
      /**
       * Mean share of the n final results of a query that are among the top n documents of the stage; 1 if later stages
       * change nothing. Only judgments show whether a change is an improvement.
       */
      answered: boundedOf(meanShare(answered, ({ stage: { ranks } }) => amongFirst(ranks))),
    };
  });
}

/** Returns the most frequent stage names, in the order in which the query with the most stages lists them. */
function namesOf(staged: readonly StagedQuery[]): string[] {
  const counts = new Map<string, number>();
  for (const { stages } of staged.toSorted((a, b) => b.stages.length - a.stages.length))
    for (const { name } of stages) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = new Set(
    [...counts]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, MAX_NAMES)
      .map(([name]) => name),
  );
  return [...counts.keys()].filter((name) => most.has(name));
}

/**
 * Returns the number of documents that the preceding stage returned; null for the first stage. If several parallel
 * stages precede this one, returns the largest of their numbers. An unknown number counts as 0.
 */
function documentsBefore(stages: readonly LiveStage[], place: number): number | null {
  const earlier = withoutSides(stages.slice(0, place), stages[place]?.isSide === true);
  const last = earlier.at(-1);
  const joined = last?.isSide === true ? earlier.slice(withoutSides(earlier, true).length) : earlier.slice(-1);
  return joined.length === 0 ? null : Math.max(...joined.map(({ documents }) => documents ?? 0));
}

/** Drops the parallel stages at the end of the list if `drops` is true. */
function withoutSides(stages: readonly LiveStage[], drops: boolean): readonly LiveStage[] {
  return drops ? stages.slice(0, stages.findLastIndex(({ isSide }) => !isSide) + 1) : stages;
}

function amongFirst(ranks: readonly (number | null)[]): number {
  return ranks.filter((rank) => rank !== null && rank <= ranks.length).length / ranks.length;
}

/**
 * Weighted 95th percentile. Its bounds are the quantiles at the two ends of the confidence interval for the share of
 * queries whose values do not exceed the percentile (Woodruff, Confidence intervals for medians and other position
 * measures, JASA 1952).
 */
export function percentile95(
  queries: readonly (CalibratedMember & { readonly value: number })[],
): ReturnType<typeof boundedOf> {
  const sorted = queries.toSorted((a, b) => a.value - b.value);
  const weights = sorted.map(({ probability, calibration = 1 }) => calibration / probability);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const at = (share: number): number => {
    let sum = 0;
    const place = weights.findIndex((weight) => {
      sum += weight;
      // The tolerance ensures that rounding of the sum does not skip the right value.
      return sum >= share * total * (1 - 1e-12);
    });
    return sorted[place === -1 ? sorted.length - 1 : place]?.value ?? 0;
  };
  const value = at(0.95);
  const share = queryRate(queries, (query) => query.value <= value);
  if (share.kind !== 'rate') return null;
  return { value, ciLow: Math.min(at(share.low), value), ciHigh: Math.max(at(share.high), value) };
}

/** Returns the value with its 95 % bounds over sessions; null if there are too few sessions. */
function boundedOf(outcome: ClickRateOutcome) {
  if (outcome.kind !== 'rate') return null;
  return { value: outcome.value, ciLow: outcome.low, ciHigh: outcome.high };
}
