/**
 * What the stages of a retriever do to live queries, as far as it is seen without judgments, and what the texts of
 * answers cost, over a window of samples.
 */

import type { ContextSize } from '../../core/text/context-size.ts';
import { studentTQuantile } from '../../math/stats/distributions.ts';
import {
  type CalibratedMember,
  type ClickRateOutcome,
  meanShare,
  queryRate,
  sessionRatio,
} from './feedback/click-rates.ts';
import type { LiveStage } from './live-query.ts';

/** A sampled query whose results came with their texts; null for any other. */
export interface ContextQuery extends CalibratedMember {
  readonly context: ContextSize | null;
}

type Sized = CalibratedMember & { readonly context: ContextSize };

function sized(queries: readonly ContextQuery[]): Sized[] {
  return queries.flatMap((query) => (query.context === null ? [] : [{ ...query, context: query.context }]));
}

/** Mean share of the context that an earlier result of the same list said already, bounds as of other shares. */
export function repeatedContext(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanShare(sized(queries), ({ context }) => context.repeated);
}

/** Mean of the characters of the context. */
export function contextCharacters(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanCount(sized(queries).map((query) => ({ ...query, value: query.context.characters })));
}

/** Mean number of results of the queries that were answered with any. */
export function resultsPerAnswer(
  queries: readonly (CalibratedMember & { readonly shown: number })[],
): ClickRateOutcome {
  return meanCount(queries.flatMap((query) => (query.shown === 0 ? [] : [{ ...query, value: query.shown }])));
}

/** Mean of a count of each query: 95 % bounds by Student's t over sessions, never below 0. */
function meanCount(queries: readonly (CalibratedMember & { readonly value: number })[]): ClickRateOutcome {
  const ratio = sessionRatio(
    queries.map(({ cluster, probability, calibration = 1, value }) => ({
      cluster,
      probability,
      numerator: value * calibration,
      denominator: calibration,
    })),
  );
  if (ratio.kind === 'insufficient_data') return ratio;
  const { value, variance, degreesOfFreedom, n, sessions } = ratio;
  const reach = variance === 0 ? 0 : studentTQuantile(0.975, degreesOfFreedom) * Math.sqrt(variance);
  return { kind: 'rate', value, low: Math.max(0, value - reach), high: value + reach, n, sessions };
}

/** A sampled query with the stages that are told of it; most have none. */
export interface StagedQuery extends CalibratedMember {
  readonly stages: readonly LiveStage[];
}

interface Bounded {
  readonly value: number;
  /** At 95 %, over sessions. */
  readonly ciLow: number;
  readonly ciHigh: number;
}

/** Each value null where too few samples tell. */
export interface MeasuredStage {
  readonly name: string;
  /** Sampled queries that tell of it. */
  readonly n: number;
  /** 95th percentile of its own time. */
  readonly latencyP95Ms: Bounded | null;
  /** Samples that tell its time. */
  readonly timed: number;
  /** Mean number of different documents that it hands on. */
  readonly documents: Bounded | null;
  /** Share of queries to which it hands on nothing though the stage before it had documents; of the first, nothing at all. */
  readonly emptied: Bounded | null;
  /**
   * Mean share of the answer that is among as many first documents of the stage: 1 where all that comes after it changes
   * nothing. Whether a change is for the better takes judgments.
   */
  readonly answered: Bounded | null;
}

/** Names come from services; so many are measured, those of the most samples. */
const MAX_NAMES = 12;
/** A 95th percentile of fewer is their largest. */
const MIN_TIMED = 20;

/** In the order in which they work; empty where no sample tells of stages. */
export function measureStages(queries: readonly StagedQuery[]): MeasuredStage[] {
  const told = queries.filter(({ stages }) => stages.length > 0);
  return namesOf(told).map((name) => {
    const own = told.flatMap((query) => {
      const place = query.stages.findIndex((stage) => stage.name === name);
      const stage = query.stages[place];
      return stage === undefined ? [] : [{ ...query, stage, before: documentsBefore(query.stages, place) }];
    });
    const timed = own.flatMap((one) => (one.stage.latencyMs === null ? [] : [{ ...one, value: one.stage.latencyMs }]));
    const listed = own.flatMap((one) => (one.stage.documents === null ? [] : [{ ...one, value: one.stage.documents }]));
    const answered = listed.filter(({ stage }) => stage.ranks.length > 0);
    return {
      name,
      n: own.length,
      latencyP95Ms: timed.length < MIN_TIMED ? null : percentile95(timed),
      timed: timed.length,
      documents: ofOutcome(meanCount(listed)),
      emptied: ofOutcome(queryRate(listed, ({ value, before }) => value === 0 && before !== 0)),
      answered: ofOutcome(meanShare(answered, ({ stage: { ranks } }) => amongFirst(ranks))),
    };
  });
}

/** In the order of the sample that tells most. */
function namesOf(told: readonly StagedQuery[]): string[] {
  const counts = new Map<string, number>();
  for (const { stages } of told.toSorted((a, b) => b.stages.length - a.stages.length))
    for (const { name } of stages) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = new Set(
    [...counts]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, MAX_NAMES)
      .map(([name]) => name),
  );
  return [...counts.keys()].filter((name) => most.has(name));
}

/** Most documents of those that come right before it; null for the first. What nobody tells counts as none. */
function documentsBefore(stages: readonly LiveStage[], place: number): number | null {
  const earlier = withoutSides(stages.slice(0, place), stages[place]?.isSide === true);
  const last = earlier.at(-1);
  const joined = last?.isSide === true ? earlier.slice(withoutSides(earlier, true).length) : earlier.slice(-1);
  return joined.length === 0 ? null : Math.max(...joined.map(({ documents }) => documents ?? 0));
}

/** Without those at the end that are beside each other. */
function withoutSides(stages: readonly LiveStage[], drops: boolean): readonly LiveStage[] {
  return drops ? stages.slice(0, stages.findLastIndex(({ isSide }) => !isSide) + 1) : stages;
}

function amongFirst(ranks: readonly (number | null)[]): number {
  return ranks.filter((rank) => rank !== null && rank <= ranks.length).length / ranks.length;
}

/**
 * Weighted 95th percentile, with the values at the bounds of the share that lies at or below it (Woodruff, Confidence
 * intervals for medians and other position measures, JASA 1952).
 */
function percentile95(queries: readonly (CalibratedMember & { readonly value: number })[]): Bounded | null {
  const sorted = queries.toSorted((a, b) => a.value - b.value);
  const weights = sorted.map(({ probability, calibration = 1 }) => calibration / probability);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const at = (share: number): number => {
    let sum = 0;
    const place = weights.findIndex((weight) => {
      sum += weight;
      // Rounding of the sum must not pass over the one that reaches it.
      return sum >= share * total * (1 - 1e-12);
    });
    return sorted[place === -1 ? sorted.length - 1 : place]?.value ?? 0;
  };
  const value = at(0.95);
  const share = queryRate(queries, (query) => query.value <= value);
  if (share.kind !== 'rate') return null;
  return { value, ciLow: Math.min(at(share.low), value), ciHigh: Math.max(at(share.high), value) };
}

function ofOutcome(outcome: ClickRateOutcome): Bounded | null {
  if (outcome.kind !== 'rate') return null;
  const { value, low, high } = outcome;
  return { value, ciLow: Math.min(low, value), ciHigh: Math.max(high, value) };
}
