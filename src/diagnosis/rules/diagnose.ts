/** From what is known around an alarm to a diagnosis: a cause or `unknown`, how far to trust it, and why. */
import { type CauseText, causeTexts, probabilityText, tellApart } from './cause.ts';
import { effectsOf, failedShareOf } from './effects.ts';
import type { Effect } from './explains.ts';
import type { Observations } from './observations.ts';
import { besideOf, type CauseRanking, rankCauses } from './rank-causes.ts';
import { readPartSigns } from './read-part-signs.ts';
import { readRunSigns } from './read-run-signs.ts';
import type { Sign, SignName } from './signs.ts';

/** Longest summary, in characters: what an annotation of an alert or a line of a chat takes. */
export const MAX_SUMMARY_LENGTH = 300;

export interface Findings extends CauseRanking, Pick<CauseText, 'title' | 'action'> {
  /** At most 300 characters. */
  readonly summary: string;
  /** Everything that was read. */
  readonly signs: readonly Sign[];
}

export function diagnose(observed: Observations): Findings {
  const signs = [...readRunSigns(observed.run), ...readPartSigns(observed)];
  const effects = effectsOf(observed, signs);
  const ranking = rankCauses(undenied(signs), effects, failedShareOf(observed.run));
  const { title, action } = causeTexts[ranking.cause];
  return { ...ranking, title, action, summary: summarise(ranking, effects), signs };
}

/** What a part of the store may lack or hold without these showing it. */
const wellStates: Readonly<Partial<Record<SignName, string>>> = {
  score: 'steady',
  results: 'intact',
  documents: 'same',
  labels: 'alive',
  store_size: 'steady',
  canary: 'same',
  density: 'steady',
  sentinel: 'stands',
};

/**
 * Documents that were looked up by their ids are known to be missing, mixed or late: that golden questions and counts show
 * nothing of it does not speak against it, since they stand for others.
 */
function undenied(signs: readonly Sign[]): readonly Sign[] {
  const isKnown = signs.some(
    ({ name, state }) =>
      (name === 'index_documents' && state === 'missing') ||
      (name === 'index_models' && state === 'mixed') ||
      (name === 'index_arrivals' && state === 'late'),
  );
  return isKnown ? signs.filter(({ name, state }) => wellStates[name] !== state) : signs;
}

function summarise(ranking: CauseRanking, effects: readonly Effect[]): string {
  const { cause, ranked } = ranking;
  const beside = besideOf(ranked, cause);
  if (cause === 'unknown') return joined(unknownSentences(ranking, effects));
  const { title, action } = causeTexts[cause];
  const trust = `${ranking.confidence} confidence, ${probabilityText(ranking.probability)}`;
  if (beside !== null) {
    const either = `${title} or ${causeTexts[beside.cause].title} (${trust} and ${probabilityText(beside.probability)})`;
    return joined([`Likely cause: ${either}.`, tellApart(cause, beside.cause)]);
  }
  const evidence = ranked[0]?.supporting.slice(0, 2).map(({ sentence }) => sentence) ?? [];
  return joined([`Likely cause: ${title} (${trust}).`, ...evidence, action]);
}

/** A guess that is less likely is none. */
const MIN_GUESS = 0.2;

function unknownSentences({ ranked }: CauseRanking, effects: readonly Effect[]): string[] {
  const { action } = causeTexts.unknown;
  if (effects.length > 0 && effects.every(({ size }) => size === 0))
    return ['Cause unknown: what is in alarm is as it was in the last good run.', action];
  const guesses = ranked
    .filter(({ cause, probability }) => cause !== 'unknown' && probability >= MIN_GUESS)
    .slice(0, 2)
    .map(({ cause, probability }) => `${causeTexts[cause].title} (${probabilityText(probability)})`);
  const likeliest = guesses.length === 0 ? [] : [`Likeliest: ${guesses.join(', ')}.`];
  const narrowed = ranked.flatMap(({ cause, supporting }) => (cause === 'unknown' ? supporting : []));
  const known = narrowed.map(({ sentence }) => sentence);
  return ['Cause unknown: what was measured does not tell.', ...known, ...likeliest, action];
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
