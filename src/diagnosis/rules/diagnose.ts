/** From what is known around an alarm to a diagnosis: a cause or `unknown`, how far to trust it, and why. */

import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBreach } from '../../checks/rules/threshold.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import { parseMetricKey } from '../../math/ir/metric-key.ts';
import type { JudgedMeasureName } from '../../measures/rules/measure-table.ts';
import { type AlsoCause, alsoCauses, effectsText } from './also-causes.ts';
import {
  type CauseText,
  causeTexts,
  type Effect,
  type EffectKind,
  effectParts,
  probabilityText,
  tellApart,
} from './cause.ts';
import { movedBy } from './moved-by.ts';
import type { Observations, ObservedRun } from './observations.ts';
import { besideOf, type CauseRanking, rankCauses } from './rank-causes.ts';
import { readPartSigns } from './read-part-signs.ts';
import { readRunSigns } from './read-run-signs.ts';
import { sinceOnset } from './samples.ts';
import type { Sign, SignName } from './signs.ts';

/** Longest summary, in characters: what an annotation of an alert or a line of a chat takes. */
export const MAX_SUMMARY_LENGTH = 300;

export interface Findings extends CauseRanking, Pick<CauseText, 'title' | 'action'> {
  /** At most 300 characters. */
  readonly summary: string;
  /** Causes of firing alerts that the first cause cannot bring about. */
  readonly also: readonly AlsoCause[];
  /** Everything that was read. */
  readonly signs: readonly Sign[];
}

export function diagnose(observed: Observations): Findings {
  const signs = [...readRunSigns(observed.run), ...readPartSigns(observed)].map((sign) => {
    const sample = observed.samples[sign.name];
    return sample === undefined ? sign : { ...sign, from: sample.from.toISOString(), n: sample.n };
  });
  const effects = effectsOf(observed, signs);
  const weighed = measurable(undenied(sinceOnset(signs, observed.onset)));
  const failedShare = failedShareOf(observed.run);
  const ranking = rankCauses(weighed, effects, failedShare);
  const also = alsoCauses(ranking, weighed, effects, failedShare);
  const { title, action } = causeTexts[ranking.cause];
  return { ...ranking, title, action, summary: summarise({ ...ranking, also }, effects, signs), also, signs };
}

/** Latencies that a starved recalld measured are its own. */
function measurable(signs: readonly Sign[]): readonly Sign[] {
  const isStarved = signs.some(({ name, state }) => name === 'own_work' && state === 'starved');
  return isStarved ? signs.filter(({ name }) => name !== 'latency' && name !== 'warming') : signs;
}

/** Healthy states that need not change while a part of the documents cannot be retrieved. */
const answersHealthy = {
  score: 'steady',
  results: 'intact',
  documents: 'same',
  density: 'steady',
  sentinel: 'stands',
} as const;
const countsHealthy = { labels: 'alive', store_size: 'steady' } as const;

/** What a finding about documents that were looked up one by one says nothing about, by the sign that carries it. */
const unaffectedBy: Readonly<
  Partial<Record<SignName, readonly [state: string, healthy: Readonly<Partial<Record<SignName, string>>>]>>
> = {
  index_documents: ['missing', { ...answersHealthy, ...countsHealthy }],
  gone_documents: ['lost', answersHealthy],
  index_arrivals: ['late', { ...answersHealthy, ...countsHealthy }],
  // The documents are there, so that counts and labels still speak against lost ones.
  index_retrieval: ['not_found', { ...answersHealthy, canary: 'same' }],
  index_models: ['mixed', { ...answersHealthy, canary: 'same' }],
};

/**
 * Documents that were looked up by their ids are known to be missing, late, of another model or not retrieved. Golden
 * queries and counts that do not show it stand for other documents, and do not speak against it.
 */
function undenied(signs: readonly Sign[]): readonly Sign[] {
  const found = signs.flatMap(({ name, state }) => {
    const [wrong, healthy] = unaffectedBy[name] ?? [];
    return wrong === state && healthy !== undefined ? [healthy] : [];
  });
  return signs.filter(({ name, state }) => !found.some((healthy) => healthy[name] === state));
}

function summarise(
  ranking: CauseRanking & Pick<Findings, 'also'>,
  effects: readonly Effect[],
  signs: readonly Sign[],
): string {
  const { cause, ranked, also } = ranking;
  const beside = besideOf(ranked, cause);
  if (cause === 'unknown') return joined(unknownSentences(ranking, effects, signs));
  const { title, action } = causeTexts[cause];
  const trust = `${ranking.confidence} confidence, ${probabilityText(ranking.probability)}`;
  const others = also.map(
    (one) =>
      `Likely cause of ${effectsText(one)}: ${causeTexts[one.cause].title} (${one.confidence} confidence, ${probabilityText(one.probability)}).`,
  );
  if (beside !== null) {
    const either = `${title} or ${causeTexts[beside.cause].title} (${trust} and ${probabilityText(beside.probability)})`;
    return joined([`Likely cause: ${either}.`, tellApart(cause, beside.cause), ...others]);
  }
  const evidence = ranked[0]?.supporting.slice(0, 2).map(({ sentence }) => sentence) ?? [];
  return joined([`Likely cause: ${title} (${trust}).`, ...others, ...evidence, action]);
}

/** A guess that is less likely is none. */
const MIN_GUESS = 0.2;

function unknownSentences({ ranked }: CauseRanking, effects: readonly Effect[], signs: readonly Sign[]): string[] {
  const { action } = causeTexts.unknown;
  if (effects.length > 0 && effects.every(({ size }) => size === 0)) {
    const names = new Set(effects.flatMap(({ kind }) => movedBy[kind]?.[0] ?? []));
    const figures = signs.flatMap(({ name, sentence }) => (names.has(name) ? sentence : []));
    // Last, since there may be more of them than have room.
    return ['Cause unknown: what is in alarm is much as it was in the last good run.', action, ...figures];
  }
  const guesses = ranked
    .filter(({ cause, probability }) => cause !== 'unknown' && probability >= MIN_GUESS)
    .slice(0, 2)
    .map(({ cause, probability }) => `${causeTexts[cause].title} (${probabilityText(probability)})`);
  const likeliest = guesses.length === 0 ? [] : [`Likeliest: ${guesses.join(', ')}.`];
  const differences = ranked.flatMap(({ cause, supporting }) => (cause === 'unknown' ? supporting : []));
  const [strongest, ...others] = differences.map(({ sentence }) => sentence);
  const first = strongest === undefined ? [] : [strongest];
  return ['Cause unknown: what was measured does not tell.', ...first, ...likeliest, action, ...others];
}

/** Leaves out what would make it too long. */
function joined(sentences: readonly string[]): string {
  return sentences.reduce(
    (summary, sentence) =>
      summary.length + 1 + sentence.length > MAX_SUMMARY_LENGTH
        ? summary
        : `${summary}${summary === '' ? '' : ' '}${sentence}`,
    '',
  );
}

/** A fall of a score that is no larger is not one. */
const MIN_FALL = 0.005;

/** These are alarms wherever they are measured, without a check. */
const alwaysAlarms: readonly EffectKind[] = ['failures', 'relevance', 'judge', 'recall', 'canary', 'runs'];

/**
 * The effects that are in alarm. One that was in alarm but is as it was before has the size 0: no cause explains it. One
 * that cannot be held against before is left out. Empty when it is not known what is in alarm.
 */
function effectsOf({ alarmed, run }: Pick<Observations, 'alarmed' | 'run'>, signs: readonly Sign[]): Effect[] {
  if (alarmed === null) return [];
  const always = alwaysAlarms.filter((kind) => isMoved(kind, signs) || (kind === 'failures' && isFailing(signs)));
  return [...new Set([...alarmed, ...always])].flatMap((kind): Effect[] => {
    if (kind === 'score') return scoreEffect(run);
    if (kind === 'failures') return failures(run, signs);
    const [name] = movedBy[kind] ?? [];
    if (name === undefined) return [{ kind, size: 1, parts: null }];
    if (!signs.some((sign) => sign.name === name)) return [];
    return [{ kind, size: isMoved(kind, signs) ? 1 : 0, parts: null }];
  });
}

/** Share of the golden queries that failed; null without a run. */
function failedShareOf(run: ObservedRun | null): number | null {
  if (run === null) return null;
  const { ok, empty, error, timeout } = run.outcomes;
  const total = ok + empty + error + timeout;
  return total === 0 ? null : (error + timeout) / total;
}

function isMoved(kind: EffectKind, signs: readonly Sign[]): boolean {
  const [name, ...states] = movedBy[kind] ?? [];
  return signs.some((sign) => sign.name === name && states.includes(sign.state));
}

function isFailing(signs: readonly Sign[]): boolean {
  return signs.some(({ name, state }) => name === 'failures' && state !== 'none');
}

function failures(run: ObservedRun | null, signs: readonly Sign[]): Effect[] {
  if (run === null) return [];
  if (!isFailing(signs)) return [{ kind: 'failures', size: 0, parts: null }];
  const { error: failed, timeout } = run.outcomes;
  return [{ kind: 'failures', size: failed + timeout, parts: { failed, timed_out: timeout } }];
}

/** Other questions have another mean, and answers waver: by less than this it may be by chance. */
const MIN_TO_TELL = 0.02;

/** Parts that rose instead take nothing away from those that fell. */
function scoreEffect(run: ObservedRun | null): Effect[] {
  const loss = run?.reference?.loss ?? null;
  if (loss === null) return [];
  if (loss.before - loss.now < MIN_FALL) return [{ kind: 'score', size: 0, parts: null }];
  const parts = { ...loss.parts, unshared: toldOf(loss.parts.unshared), answers: toldOf(loss.parts.answers) };
  const size = effectParts.reduce((sum, part) => sum + Math.max(0, parts[part]), 0);
  return [{ kind: 'score', size, parts }];
}

function toldOf(part: number): number {
  return part < MIN_TO_TELL ? 0 : part;
}

/** Of checks with a fixed threshold, which the config has on no other measure. */
const effectOfMeasure: Readonly<Record<JudgedMeasureName, EffectKind>> = {
  zero_results_ratio: 'live_empty',
  error_ratio: 'live_errors',
  context_repeated_ratio: 'relevance',
  feedback_positive_ratio: 'feedback',
  clicked_query_ratio: 'feedback',
  live_ndcg: 'relevance',
  live_precision: 'relevance',
  live_hit_rate: 'relevance',
  live_mrr: 'relevance',
  index_missing_ratio: 'index',
  index_not_retrievable_ratio: 'index',
  index_orphaned_ratio: 'index',
  index_superseded_ratio: 'index',
  index_lag_seconds: 'index',
  index_lag_median_seconds: 'index',
  index_other_model_ratio: 'index',
  query_density: 'density',
  query_uncovered_excess_ratio: 'density',
  repeat_density: 'density',
  ann_recall: 'recall',
  store_sample_age_seconds: 'runs',
  retriever_error_ratio: 'failures',
  retriever_latency_p95_seconds: 'latency',
  rbo: 'score',
  false_answer_ratio: 'score',
  candidates_recall: 'score',
  golden_representativeness: 'density',
  golden_run_age_seconds: 'runs',
};

export interface Alarmed {
  readonly effects: readonly EffectKind[];
  /** The measure of a golden run that is in alarm, of several a critical one; null when none is. */
  readonly key: RunMetricKey | null;
}

/** @param checks of all pipelines */
export function alarmedBy(pipeline: string, checks: readonly CheckState[]): Alarmed {
  const breached = checks.filter((check) => check.pipeline === pipeline && isBreach(check.verdict));
  const scored = breached.filter(({ kind }) => kind === 'floor' || kind === 'regression');
  const worst = scored.find(({ verdict }) => verdict === 'critical') ?? scored[0];
  return { effects: [...new Set(breached.map(effectOf))], key: worst === undefined ? null : keyOf(worst.measure) };
}

function effectOf({ kind, measure }: CheckState): EffectKind {
  switch (kind) {
    case 'floor':
    case 'regression':
      return 'score';
    case 'stale_labels':
      return 'labels';
    case 'forbidden_results':
      return 'forbidden';
    case 'density_drift':
      return 'density';
    case 'threshold':
      return effectOfMeasure[measure as JudgedMeasureName];
  }
}

function keyOf(measure: string): RunMetricKey | null {
  const { k, ...key } = parseMetricKey(measure);
  return k === null ? null : { ...key, k };
}
