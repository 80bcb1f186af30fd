/** Live traffic of a world: query outcomes, user feedback, query topics, and returned texts. */

import type { ComparedSide } from '../../src/golden/rules/compare-golden-runs.ts';
import type { QueryContext } from '../../src/golden/rules/run.ts';
import type { EffectKind } from '../../src/incidents/diagnosis/rules/effects.ts';
import {
  type Observations,
  type ObservedLevel,
  type ObservedReference,
} from '../../src/incidents/diagnosis/rules/observations.ts';
import type { ObservedShare, ObservedValue } from '../../src/incidents/diagnosis/rules/observed-live.ts';
import { rankBiasedOverlap } from '../../src/math/ir/ranking.ts';
import { mean, summarize } from '../../src/math/stats/descriptive.ts';
import { wilsonInterval } from '../../src/math/stats/intervals.ts';
import { nothingLive } from '../../test/support/nothing-live.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Broken } from './fault.ts';
import type { Shape } from './shape.ts';

export interface TrafficShape {
  /** True if the retriever and the service send texts. */
  readonly hasTexts: boolean;
  /** True if the service sends the latency of its responses. */
  readonly reportsLatency: boolean;
  /** Number of ratings in the window; 0 if the service collects no feedback. */
  readonly opinions: number;
  readonly positive: number;
  readonly topQuery: number;
  readonly mainLanguage: number;
}

export function drawTraffic(random: RandomNumbers): TrafficShape {
  return {
    hasTexts: random.uniform() < 0.5,
    opinions: random.uniform() < 0.5 ? 0 : 60 + random.below(600),
    positive: 0.65 + 0.3 * random.uniform(),
    topQuery: 0.005 + 0.05 * random.uniform(),
    mainLanguage: 0.88 + 0.12 * random.uniform(),
    reportsLatency: random.uniform() < 0.5,
  };
}

const USUALLY_FAILED = 0.005;
const USUALLY_EMPTY = 0.01;
/** Drop in the share of positive feedback (0 to 1) if the whole golden score is lost. */
const OWED_TO_RETRIEVAL = 0.6;

/** @param lost share of the golden score that was lost, 0 to 1 */
export function observeLive(
  { liveQueries: n }: Shape,
  traffic: TrafficShape,
  broken: Broken,
  { reference, now }: { readonly reference: ComparedSide; readonly now: ComparedSide },
  lost: number,
  random: RandomNumbers,
  other: RandomNumbers,
): Observations['live'] {
  if (n === 0) return nothingLive;
  const shareOf = (...outcomes: readonly string[]): number =>
    now.answers.filter(({ outcome }) => outcomes.includes(outcome)).length / now.answers.length;
  const sampled = (share: number, before: number, drawnBy = random, of = n): ObservedShare & ObservedValue => {
    const hits = Array.from({ length: of }, () => drawnBy.uniform() < share).filter(Boolean).length;
    const { low, high } = wilsonInterval(hits / of, of, 0.95);
    return { value: hits / of, ciLow: Math.min(low, hits / of), ciHigh: Math.max(high, hits / of), n: of, before };
  };
  const errors = sampled(Math.max(USUALLY_FAILED, broken.liveFailed ?? shareOf('error', 'timeout')), USUALLY_FAILED);
  const empty = sampled(Math.max(USUALLY_EMPTY, broken.liveEmpty ?? shareOf('empty')), USUALLY_EMPTY);
  const about = (value: number, before: number): ObservedValue => {
    const measured = value * (1 + 0.02 * other.normal());
    return { value: measured, ciLow: 0.96 * measured, ciHigh: 1.04 * measured, n, before };
  };
  const [was, is] = [lengthOf(reference), lengthOf(now)];
  const texts = [contextsOf(reference, 1), contextsOf(now, broken.textShare ?? 1)].map(meanOf);
  const [textBefore, textNow] = traffic.hasTexts ? texts : [null, null];
  const left = broken.liveResults ?? 1;
  const isLanguageKnown = n >= 60;
  return {
    ...nothingLive,
    errors,
    empty,
    latency: latencyOf(reference, now, n, traffic),
    results: was === null || is === null ? null : about(left * is, was),
    characters: textBefore && textNow ? about(left * textNow.characters, textBefore.characters) : null,
    repeated: textBefore && textNow ? about(textNow.repeated, textBefore.repeated) : null,
    topQuery: sampled(broken.topQuery ?? traffic.topQuery, traffic.topQuery, other),
    mainLanguage: isLanguageKnown
      ? sampled(traffic.mainLanguage * (1 - (broken.otherLanguage ?? 0)), traffic.mainLanguage, other, Math.min(n, 300))
      : null,
    feedback:
      traffic.opinions === 0
        ? null
        : {
            ...sampled(
              Math.max(0, traffic.positive - (broken.lessPositive ?? 0) - OWED_TO_RETRIEVAL * lost),
              traffic.positive,
              other,
              traffic.opinions,
            ),
            of: 'opinions',
            isDrop: false,
          },
  };
}

const MOST_REPLAYED = 24;
const FEWEST_REPLAYED = 8;
/** Share of the pipelines that store hashes instead of live texts; these pipelines cannot replay live queries. */
const HASHED = 0.25;

/**
 * Simulates a replay in which golden queries stand for live queries. Users saw the results of an earlier run, and the
 * replay returns those of the latest run; the results differ if the fault changes from call to call.
 */
export function observeReplay(
  { liveQueries, k }: Shape,
  { liveEmpty = 0, liveResults = 1 }: Broken,
  runs: { readonly reference: ComparedSide; readonly previous: ComparedSide | null; readonly now: ComparedSide },
  random: RandomNumbers,
): Observations['liveReplay'] {
  const isHashed = random.uniform() < HASHED;
  const answers = runs.now.answers.filter(({ outcome }) => outcome === 'ok' || outcome === 'empty');
  if (isHashed || Math.min(liveQueries, answers.length) < FEWEST_REPLAYED) return null;
  const overlapWith = (shown: ComparedSide, changed: (ids: string[]) => string[]) => {
    const lists = new Map(shown.answers.map(({ queryId, documents }) => [queryId, documents.map(({ id }) => id)]));
    const overlaps = answers.slice(0, MOST_REPLAYED).map(({ queryId, documents }) => {
      const replayed = documents.map(({ id }) => id);
      return rankBiasedOverlap(changed(lists.get(queryId) ?? []), replayed, k);
    });
    const { mean: value, ciLow, ciHigh, n } = summarize(overlaps, 'ndcg');
    return { value, ciLow: ciLow ?? value, ciHigh: ciHigh ?? value, n };
  };
  return {
    before: overlapWith(runs.reference, (ids) => ids),
    now: overlapWith(runs.previous ?? runs.now, (ids) =>
      random.uniform() < liveEmpty ? [] : ids.slice(0, Math.round(liveResults * ids.length)),
    ),
  };
}

/** Latency that the service reports; simulated live queries are as slow as the golden queries. */
function latencyOf(
  reference: ComparedSide,
  now: ComparedSide,
  n: number,
  { reportsLatency }: TrafficShape,
): Observations['live']['latency'] {
  const [before, after] = [reference, now].map(percentile95);
  return !reportsLatency || before === undefined || after === undefined ? null : { before, now: after, n };
}

function percentile95({ answers }: ComparedSide): number | undefined {
  const latencies = answers
    .flatMap(({ outcome, latencyMs }) => (outcome === 'ok' || outcome === 'empty' ? (latencyMs ?? []) : []))
    .toSorted((a, b) => a - b);
  return latencies[Math.ceil(0.95 * latencies.length) - 1];
}

function lengthOf({ answers }: ComparedSide): number | null {
  const lengths = answers.map(({ documents }) => documents.length).filter((length) => length > 0);
  return lengths.length === 0 ? null : mean(lengths);
}

/** Copies and versions of a chunk have the same text. */
function textOf(id: string): string {
  return id.replace(/^new:/, '').replace(/[+@]\w*$/, '');
}

function charactersOf(id: string): number {
  let hash = 17;
  const text = textOf(id);
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return 300 + (Math.abs(hash) % 1200);
}

export function contextsOf({ answers }: ComparedSide, textShare: number): QueryContext[] {
  return answers.flatMap(({ queryId, documents }) => {
    if (documents.length === 0) return [];
    const texts = documents.map(({ id }) => textOf(id));
    const characters = documents.reduce((sum, { id }) => sum + textShare * charactersOf(id), 0);
    return [{ queryId, characters: Math.round(characters), repeated: 1 - new Set(texts).size / texts.length }];
  });
}

function meanOf(contexts: readonly QueryContext[]): NonNullable<ObservedReference['texts']>['now'] | null {
  if (contexts.length === 0) return null;
  return {
    characters: mean(contexts.map(({ characters }) => characters)),
    repeated: mean(contexts.map(({ repeated }) => repeated)),
  };
}

function isOther(value: ObservedValue | null): boolean {
  return value !== null && Math.abs(value.value - value.before) > 0.35 * value.before;
}

function rose(value: ObservedValue | null): boolean {
  return value !== null && value.value > value.before + 0.1 && value.ciLow > value.before;
}

function fell(value: ObservedValue | null, by: number): boolean {
  return value !== null && value.value < value.before - by && value.ciHigh < value.before;
}

/** Returns pairs: a kind of effect, and true if an alert of this kind (a changed measure or feedback) fires. */
export function changesOf({ results, characters, repeated, topQuery, mainLanguage, feedback }: Observations['live']) {
  const alerts: readonly (readonly [EffectKind, boolean])[] = [
    ['results', isOther(results)],
    ['context', isOther(characters)],
    ['repeats', rose(repeated)],
    ['traffic', rose(topQuery) || fell(mainLanguage, 0.1)],
    ['feedback', fell(feedback, 0.08)],
  ];
  return alerts;
}

/**
 * Returns the golden score now and in the first run, its threshold, and the user feedback; null if no score dropped.
 */
export function levelOf(
  loss: { readonly before: number; readonly now: number } | null,
  { feedback }: Observations['live'],
  { slack, isAlwaysLow }: { readonly slack: number; readonly isAlwaysLow: boolean },
): ObservedLevel | null {
  if (loss === null) return null;
  const opinions = feedback === null ? null : { ...feedback, by: 'users' as const };
  const threshold = loss.before + (isAlwaysLow ? slack : -slack);
  return { measure: 'ndcg', now: loss.now, first: loss.before, threshold, opinions };
}
