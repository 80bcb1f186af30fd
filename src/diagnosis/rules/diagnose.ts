/** From what is known around an alarm to a diagnosis: a cause or `unknown`, how far to trust it, and why. */
import { type CauseText, causeTexts, probabilityText } from './cause.ts';
import type { Observations } from './observations.ts';
import { type CauseRanking, rankCauses } from './rank-causes.ts';
import { readPartSigns } from './read-part-signs.ts';
import { readRunSigns } from './read-run-signs.ts';
import type { Sign } from './signs.ts';

/** Longest summary, in characters: what an annotation of an alert or a line of a chat takes. */
export const LONGEST_SUMMARY = 300;

export interface Findings extends CauseRanking, CauseText {
  /** At most 300 characters. */
  readonly summary: string;
  /** Everything that was read. */
  readonly signs: readonly Sign[];
}

export function diagnose(observed: Observations): Findings {
  const signs = [...readRunSigns(observed.run, observed.live), ...readPartSigns(observed)];
  const ranking = rankCauses(signs);
  const text = causeTexts[ranking.cause];
  return { ...ranking, ...text, summary: summarise(ranking, text), signs };
}

function summarise(ranking: CauseRanking, { title, action }: CauseText): string {
  const [first, second] = ranking.ranked.filter(({ cause }) => cause !== 'unknown');
  const guesses = [first, second].flatMap((one) =>
    one === undefined ? [] : [`${causeTexts[one.cause].title} (${probabilityText(one.probability)})`],
  );
  const sentences =
    ranking.cause === 'unknown'
      ? [`Cause unknown: what was measured does not tell.`, `Likeliest: ${guesses.join(', ')}.`, action]
      : [
          `Likely cause: ${title} (${ranking.confidence} confidence, ${probabilityText(ranking.probability)}).`,
          ...(ranking.ranked[0]?.supporting.slice(0, 2).map(({ sentence }) => sentence) ?? []),
          action,
        ];
  return sentences.reduce(
    (summary, sentence) =>
      summary.length + 1 + sentence.length > LONGEST_SUMMARY
        ? summary
        : `${summary}${summary === '' ? '' : ' '}${sentence}`,
    '',
  );
}
