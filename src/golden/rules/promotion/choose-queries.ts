/** Which live questions are worth a judgment. */
import { type Question, questionKey } from '../question.ts';
import { nearDuplicates } from '../text/near-duplicates.ts';
import { normalisedText } from '../text/similarity.ts';
import { type CandidateFeedback, type CandidateQuery, type FeedbackTally, tallyOf } from './candidate.ts';

/** Why a question was chosen, in the order in which the choice goes round. */
export const choiceReasons = [
  'negative_feedback',
  'uncovered',
  'positive_feedback',
  'clicked',
  'frequent',
] as const;

export type ChoiceReason = (typeof choiceReasons)[number];

export interface ChosenQuery {
  /** Whose text is taken. Of equal questions the one with most feedback, then the latest. */
  readonly source: CandidateQuery;
  readonly reasons: readonly ChoiceReason[];
  /** Live queries that the equal ones stand for: the sum of 1 / probability. */
  readonly asked: number;
  /** Of all equal questions together. */
  readonly feedback: readonly CandidateFeedback[];
  readonly tally: FeedbackTally;
}

export interface ChoiceSettings {
  readonly most: number;
  /** The golden set that the questions are to join: what is nearly there already is left out. */
  readonly golden: readonly Question[];
  /** Ids of live queries in topics without a golden query. */
  readonly uncovered: ReadonlySet<string>;
}

/** Jaccard similarity of words from which a question counts as one that is there. */
const NEAR = 0.8;
/** A question that was asked once is not frequent. */
const FREQUENT = 2;

/**
 * Joins questions that are equal but for case and punctuation and have equal tags, leaves out near-duplicates of the
 * golden set and of each other, and chooses in turns among those with negative feedback, without a golden query near
 * by, with positive feedback, with clicks, and asked often; within a turn the one that was asked most. Questions with
 * none of these reasons are not chosen.
 */
export function chooseQueries(
  candidates: readonly CandidateQuery[],
  settings: ChoiceSettings,
): ChosenQuery[] {
  const groups = groupEqual(candidates, settings.uncovered).filter(({ reasons }) => reasons.length > 0);
  const ordered = groups.toSorted((a, b) => b.asked - a.asked || (a.source.id < b.source.id ? -1 : 1));
  const open = new Set(withoutKnown(ordered, settings.golden));
  const chosen: ChosenQuery[] = [];
  while (open.size > 0 && chosen.length < settings.most) {
    for (const reason of choiceReasons) {
      const next = [...open].find(({ reasons }) => reasons.includes(reason));
      if (next === undefined || chosen.length === settings.most) continue;
      chosen.push(next);
      open.delete(next);
    }
  }
  return chosen;
}

function groupEqual(candidates: readonly CandidateQuery[], uncovered: ReadonlySet<string>): ChosenQuery[] {
  const groups = new Map<string, CandidateQuery[]>();
  for (const candidate of candidates) {
    const text = normalisedText(candidate.text);
    if (text === '') continue;
    const key = questionKey({ text, tags: candidate.tags });
    groups.set(key, [...(groups.get(key) ?? []), candidate]);
  }
  return [...groups.values()].map((group) => {
    const [source] = group.toSorted(
      (a, b) => b.feedback.length - a.feedback.length || b.askedAt.getTime() - a.askedAt.getTime(),
    );
    const feedback = group.flatMap((one) => one.feedback);
    const asked = group.reduce((sum, { probability }) => sum + 1 / probability, 0);
    const tally = tallyOf(feedback);
    const holds: Record<ChoiceReason, boolean> = {
      negative_feedback: tally.negative > 0,
      uncovered: group.some(({ id }) => uncovered.has(id)),
      positive_feedback: tally.positive > 0,
      clicked: tally.clicks > 0,
      frequent: group.length >= FREQUENT,
    };
    const reasons = choiceReasons.filter((reason) => holds[reason]);
    return { source: source as CandidateQuery, reasons, asked, feedback, tally };
  });
}

/** Equal words with other tags are another question. */
function withoutKnown(groups: readonly ChosenQuery[], golden: readonly Question[]): ChosenQuery[] {
  const questions = [...golden, ...groups.map(({ source }) => source)];
  const tags = questions.map((question) => questionKey({ text: '', tags: question.tags }));
  const texts = questions.map(({ text }) => text);
  const known = new Set<number>();
  for (const { first, second } of nearDuplicates(texts, NEAR)) {
    if (!known.has(first) && tags[first] === tags[second]) known.add(second);
  }
  return groups.filter((_, index) => !known.has(golden.length + index));
}
