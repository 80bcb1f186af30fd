/** Derives a diagnosis from the observations around an alert: cause, confidence and evidence. */

import { failedShare as shareOfFailed } from '../../../golden/rules/run.ts';
import { type AlsoCause, alsoCauses, effectsText } from './also-causes.ts';
import { causeTexts, probabilityText, tellApart } from './cause.ts';
import type { Effect, EffectKind } from './effects.ts';
import { movedBy } from './moved-by.ts';
import type { Observations, ObservedRun } from './observations.ts';
import { besideOf, type RankedEffects, rankCauses } from './rank-causes.ts';
import { readLiveSigns } from './read-live-signs.ts';
import { readPartSigns } from './read-part-signs.ts';
import { readRunSigns } from './read-run-signs.ts';
import { sinceOnset } from './samples.ts';
import { isHealthy, type Sign, type SignName } from './signs.ts';

/** Maximum length of a summary in characters, so that it fits an alert annotation or one line of a chat message. */
export const MAX_SUMMARY_LENGTH = 300;

export interface Findings extends RankedEffects {
  /** At most 300 characters. */
  readonly summary: string;
  /** Further causes, which explain the firing alerts that the first cause cannot explain. */
  readonly also: readonly AlsoCause[];
  readonly signs: readonly Sign[];
  /** Names of the signs that were used in the ranking. */
  readonly weighed: readonly SignName[];
}

export function diagnose(observed: Observations): Findings {
  const signs = readSigns(observed);
  const weighed = undenied(measurable(sinceOnset(signs, observed.onset)));
  const effects = effectsOf(observed, signs);
  const failedShare = failedShareOf(observed.run);
  const ranking = { ...rankCauses(weighed, effects, failedShare), effects, failedShare };
  const also = alsoCauses(ranking, weighed);
  const found = { ...ranking, also, signs, weighed: weighed.map(({ name }) => name) };
  return { ...found, summary: summarise(found) };
}

function readSigns(observed: Observations): Sign[] {
  const measured = [...readLiveSigns(observed), ...readPartSigns(observed)].map((sign) => {
    const sample = observed.samples[sign.name];
    return sample === undefined ? sign : { ...sign, from: sample.from.toISOString(), n: sample.n };
  });
  return oneOfEach([...readRunSigns(observed.run), ...measured]);
}

/**
 * If a sign was read from both golden and live queries, keeps the golden sign, unless only the live sign shows a
 * difference.
 */
function oneOfEach(signs: readonly Sign[]): Sign[] {
  return signs.filter((sign, place) => {
    const same = signs.filter(({ name }) => name === sign.name);
    const shown = same.find((one) => !isHealthy(one)) ?? same[0];
    return signs.indexOf(shown ?? sign) === place;
  });
}

/**
 * Removes signs whose measurements are not evidence. Latencies that were measured while recalld was short of processor
 * time do not count against the retriever, unless the service also reports longer latencies. If queries return empty
 * results, a document that is not found by its own text is no evidence of a wrong vector. If the retriever scores
 * documents differently, a small number of reversed pairs does not show that it still ranks documents as before.
 * Malformed queries are far from all documents, whether or not the documents cover their topics. If a new version of
 * the golden set judges documents that the store lacks, but results did not change, the store did not lose these
 * documents. If owners deleted documents on purpose, the store is smaller, results lack these documents, and users no
 * longer find them; these effects are expected and are no evidence of a fault. A cache returns the same list of another
 * query each time, so lists that differ from call to call do not come from a cache. If the store still has the earlier
 * documents beside those that replaced them in the results, these documents were not renamed. Repeated results push
 * other results out of a list, so the loss of these results needs no other explanation.
 */
function measurable(signs: readonly Sign[]): readonly Sign[] {
  const has = (name: SignName, ...states: readonly string[]): boolean =>
    signs.some((sign) => sign.name === name && states.includes(sign.state));
  const isStarved = has('own_work', 'starved') && !has('live_latency', 'rose');
  const isEmpty = has('empty_answers', 'some', 'most');
  const isRescored = has('retrieval_scores', 'of_documents', 'of_queries', 'most');
  const isMalformed = has('malformed_queries', 'rose');
  const isOtherSet = has('golden_set', 'new_version') && has('results', 'intact');
  const isDeleted = has('gone_documents', 'deleted');
  const isVarying = has('again', 'differs');
  const isRepeating = has('repeats', 'rose');
  const areBothStored = has('labels', 'alive') && has('returned_documents', 'stored');
  return signs.filter(
    ({ name, state }) =>
      !(isStarved && (name === 'latency' || name === 'warming' || name === 'changed_calls')) &&
      !(isEmpty && name === 'index_retrieval' && state === 'not_found') &&
      !(isRescored && name === 'order' && state === 'as_before') &&
      !(isMalformed && (name === 'density' || name === 'topics')) &&
      !(isOtherSet && name === 'gone_documents' && state === 'lost') &&
      !(isVarying && name === 'foreign_lists') &&
      !(isRepeating && displacedByRepeats.has(name)) &&
      !(areBothStored && name === 'renamed' && state === 'one_to_one') &&
      !(isDeleted && expectedAfterDeletion.has(`${name}=${state}`)),
  );
}

/** Signs of lost results that repeated results also cause. */
const displacedByRepeats: ReadonlySet<SignName> = new Set(['results', 'changed_lists', 'surviving_documents']);

/** Signs, each with its state, that are expected after owners deleted documents on purpose. */
const expectedAfterDeletion: ReadonlySet<string> = new Set([
  'store_size=shrank',
  'store_size=fell',
  'documents=vanished',
  'rarer_documents=gone',
  'results=disturbed',
  'store_agreement=fell_near',
  'store_agreement=rose',
  // BM25 scores depend on the number of documents.
  'retrieval_scores=most',
  'retrieval_scores=of_queries',
  'density=fell',
  'density=fell_same_questions',
  'feedback=fell',
]);

/** Signs that may stay healthy although some documents cannot be retrieved. */
const answersHealthy = {
  score: 'steady',
  results: 'intact',
  documents: 'same',
  density: 'steady',
  sentinel: 'stands',
} as const;
const countsHealthy = { labels: 'alive', store_size: 'steady' } as const;

/**
 * For each finding about individual documents or queries, the signs that may be healthy without contradicting the
 * finding.
 */
const unaffectedBy: Readonly<
  Partial<Record<SignName, readonly [state: string, healthy: Readonly<Partial<Record<SignName, string>>>]>>
> = {
  index_documents: ['missing', { ...answersHealthy, ...countsHealthy }],
  gone_documents: ['lost', answersHealthy],
  // Signs about retrieved documents are computed only from non-empty results.
  empty_answers: ['some', { results: 'intact', documents: 'same', order: 'as_before' }],
  index_arrivals: ['late', { ...answersHealthy, ...countsHealthy }],
  // Golden queries request their own number of results, so they do not show whether live queries get fewer results than
  // before.
  live_results: ['fell', { answer_length: 'as_before', results: 'intact', documents: 'same', score: 'steady' }],
  // The findings `index_retrieval`, `index_models` and `missed_vectors` concern documents that are in the store. A
  // steady number of vectors, and judged documents that still exist, therefore remain evidence against a loss of
  // documents.
  index_retrieval: ['not_found', { ...answersHealthy, canary: 'same' }],
  index_models: ['mixed', { ...answersHealthy, canary: 'same' }],
  missed_vectors: ['foreign', { ...answersHealthy, canary: 'same', index_models: 'one' }],
  // Damaged texts may be as long as before, and documents with such texts may vanish from the results.
  missed_texts: ['changed', { text_length: 'as_before', same_texts: 'as_before', retrieval_scores: 'as_before' }],
  // A retriever that truncates queries may do so to queries of every kind.
  removed_words: ['end_ignored', { query_kind: 'spread' }],
  // Only the calls that timed out are slow, so a steady latency of live queries does not contradict the timeouts.
  failure_kind: ['timeouts', { live_latency: 'steady' }],
};

/**
 * Removes apparent contradictions. Some findings concern individual documents, which were looked up by id: the
 * documents are missing, late, embedded by another model or not retrieved. Healthy golden queries and counts concern
 * other documents, so they do not contradict such a finding.
 */
function undenied(signs: readonly Sign[]): readonly Sign[] {
  const found = signs.flatMap(({ name, state }) => {
    const [wrong, healthy] = unaffectedBy[name] ?? [];
    return wrong === state && healthy !== undefined ? [healthy] : [];
  });
  return signs.filter(({ name, state }) => !found.some((healthy) => healthy[name] === state));
}

function summarise(found: Omit<Findings, 'summary'>): string {
  const { cause, confidence, probability, ranked, also } = found;
  const beside = besideOf(found);
  const trust = `${confidence} confidence, ${probabilityText(probability)}`;
  const others = also.map(
    (one) =>
      `Likely cause of ${effectsText(one)}: ${causeTexts[one.cause].title} (${one.confidence} confidence, ${probabilityText(one.probability)}).`,
  );
  if (cause === 'unknown')
    return others.length === 0
      ? joined(unknownSentences(found))
      : joined([noOneCause, ...others, ...also.map((one) => causeTexts[one.cause].action)]);
  const { title, action } = causeTexts[cause];
  if (beside !== null) {
    const either = `${title} or ${causeTexts[beside.cause].title} (${trust} and ${probabilityText(beside.probability)})`;
    return joined([`Likely cause: ${either}.`, tellApart(cause, beside.cause), ...others]);
  }
  const evidence = ranked[0]?.supporting.slice(0, 2).map(({ sentence }) => sentence) ?? [];
  // If the summary is too long, evidence is omitted first, because a reader needs the action most.
  const texts = [2, 1, 0].map((count) => [
    `Likely cause: ${title} (${trust}).`,
    ...others,
    ...evidence.slice(0, count),
    action,
  ]);
  return joined(texts.find((one) => one.join(' ').length <= MAX_SUMMARY_LENGTH) ?? texts[0] ?? []);
}

export const noOneCause = 'No single cause explains all firing alerts.';

/** Minimum probability of a cause that is shown as a guess. */
const MIN_GUESS = 0.2;

function unknownSentences({ ranked, effects, signs }: Omit<Findings, 'summary'>): string[] {
  const { action } = causeTexts.unknown;
  if (effects.length > 0 && effects.every(({ size }) => size === 0)) {
    const names = new Set(effects.flatMap(({ kind }) => movedBy[kind]?.[0] ?? []));
    const figures = signs.flatMap(({ name, sentence }) => (names.has(name) ? sentence : []));
    // The figures come last, because they may not fit into the summary.
    return ['Cause unknown: the failing measures are close to their values in the last good run.', action, ...figures];
  }
  const guesses = ranked
    .filter(({ cause, probability }) => cause !== 'unknown' && probability >= MIN_GUESS)
    .slice(0, 2)
    .map(({ cause, probability }) => `${causeTexts[cause].title} (${probabilityText(probability)})`);
  const likeliest = guesses.length === 0 ? [] : [`Most likely: ${guesses.join(', ')}.`];
  const differences = ranked.flatMap(({ cause, supporting }) => (cause === 'unknown' ? supporting : []));
  const [strongest, ...others] = differences.map(({ sentence }) => sentence);
  const first = strongest === undefined ? [] : [strongest];
  return ['Cause unknown: the evidence does not identify it.', ...first, ...likeliest, action, ...others];
}

/** Omits sentences that would exceed the maximum length. */
function joined(sentences: readonly string[]): string {
  return sentences.reduce(
    (summary, sentence) =>
      summary.length + 1 + sentence.length > MAX_SUMMARY_LENGTH
        ? summary
        : `${summary}${summary === '' ? '' : ' '}${sentence}`,
    '',
  );
}

/** Minimum drop in score; smaller drops are ignored. */
const MIN_FALL = 0.005;

/** Effects that fire alerts whenever they are measured, even if no check is configured. */
const alwaysReported: readonly EffectKind[] = [
  'failures',
  'relevance',
  'judge',
  'recall',
  'canary',
  'index_missing',
  'index_orphans',
  'index_late',
  'index_models',
  'runs',
];

/**
 * Returns the effects of the firing alerts. An effect whose measure has recovered has size 0, so no cause needs to
 * explain it. Excludes effects without an earlier value. Returns an empty list if the firing alerts are unknown.
 */
function effectsOf({ firing, run }: Observations, signs: readonly Sign[]): Effect[] {
  if (firing === null) return [];
  const always = alwaysReported.filter((kind) => isMoved(kind, signs) || (kind === 'failures' && isFailing(signs)));
  return [...new Set([...firing, ...always])].flatMap((kind): Effect[] => {
    if (kind === 'score') return scoreEffect(run, signs);
    if (kind === 'failures') return failures(run, signs);
    if (kind === 'runs' && isStarved(signs)) return [{ kind, size: 1, parts: null }];
    const [name] = movedBy[kind] ?? [];
    if (name === undefined) return [{ kind, size: 1, parts: null }];
    if (!signs.some((sign) => sign.name === name)) return [];
    return [{ kind, size: isMoved(kind, signs) ? 1 : 0, parts: null }];
  });
}

function failedShareOf(run: ObservedRun | null): number | null {
  return run === null || Object.values(run.outcomes).every((n) => n === 0) ? null : shareOfFailed(run.outcomes);
}

function isMoved(kind: EffectKind, signs: readonly Sign[]): boolean {
  const [name, ...states] = movedBy[kind] ?? [];
  return signs.some((sign) => sign.name === name && states.includes(sign.state));
}

function isStarved(signs: readonly Sign[]): boolean {
  return signs.some(({ name, state }) => name === 'own_work' && state === 'starved');
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

/**
 * Minimum size of a part of a score drop that is due to different results or different queries. A smaller part is
 * ignored: it may be due to chance, because queries differ and results vary.
 */
const MIN_TO_TELL = 0.02;

function significant(part: number): number {
  return part < MIN_TO_TELL ? 0 : part;
}

/** Returns the drop in the score: the sum of its parts. Parts in which the score rose are not subtracted. */
function scoreEffect(run: ObservedRun | null, signs: readonly Sign[]): Effect[] {
  const loss = run?.reference?.loss ?? null;
  const isAlwaysLow = signs.some(({ name, state }) => name === 'level' && state === 'always_low');
  if (isAlwaysLow && (loss === null || loss.before - loss.now < MIN_FALL))
    return [{ kind: 'score', size: 1, parts: { level: 1 } }];
  if (loss === null) return [];
  if (loss.before - loss.now < MIN_FALL) return [{ kind: 'score', size: 0, parts: null }];
  const { unshared, answers, present } = loss.parts;
  const parts = {
    ...loss.parts,
    unshared: significant(unshared),
    answers: significant(answers),
    present: significant(present),
  };
  const size = Object.values(parts).reduce((sum, part) => sum + Math.max(0, part), 0);
  return [{ kind: 'score', size, parts }];
}
