import { groupBy } from '../../core/group-by.ts';
import type { RetrievedDocument } from '../../core/model.ts';
import { isPlaceholderId } from '../../core/text/content-id.ts';
import type { Sentiment } from '../../live/rules/feedback/sentiment.ts';
import type { TaggedText } from './golden-set.ts';
import { queryKey } from './golden-set-builder.ts';
import { nearDuplicates, normalisedText } from './similar-texts.ts';
import { ranksOf } from './steps.ts';

/** Reasons to choose a query, in round-robin order. */
export const choiceReasons = [
  'judged_bad',
  'negative_feedback',
  'uncovered',
  'positive_feedback',
  'clicked',
  'frequent',
] as const;

export type ChoiceReason = (typeof choiceReasons)[number];

/** Minimum Jaccard similarity of words between near-duplicates. */
const NEAR = 0.8;
/**
 * A query is frequent if at least this many sampled live queries have the same tags and, except for case and
 * punctuation, the same text.
 */
const FREQUENT = 2;
/** Minimum grade, from 0 to 3, of a document that contains an answer or part of an answer. */
const RELEVANT_GRADE = 2;

/**
 * Groups queries that have the same tags and whose texts are equal except for case and punctuation. Drops
 * near-duplicates of golden queries, and of other live queries. Then chooses one query at a time, in round-robin order,
 * from six groups: queries without a relevant graded document, queries with negative feedback, queries without a
 * similar golden query, queries with positive feedback, queries with clicks, and frequent queries. Chooses the query
 * with the worst grades from the first group, and the most frequent query from every other group. Queries that are in
 * none of these groups are not chosen.
 */
export function chooseQueries(
  candidates: readonly CandidateQuery[],
  settings: {
    readonly max: number;
    /** Queries that are already in the golden set; their near-duplicates are dropped. */
    readonly golden: readonly TaggedText[];
    /** Ids of live queries in topics without a golden query. */
    readonly uncovered: ReadonlySet<string>;
  },
): ChosenQuery[] {
  const groups = groupEqual(candidates, settings.uncovered).filter(({ reasons }) => reasons.length > 0);
  const ordered = groups.toSorted((a, b) => b.asked - a.asked || (a.source.id < b.source.id ? -1 : 1));
  const known = withoutKnown(ordered, settings.golden);
  const worst = known.toSorted(
    (a, b) => (a.judged ?? Number.POSITIVE_INFINITY) - (b.judged ?? Number.POSITIVE_INFINITY),
  );
  const open = new Set(known);
  const chosen: ChosenQuery[] = [];
  while (open.size > 0 && chosen.length < settings.max) {
    for (const reason of choiceReasons) {
      const of = reason === 'judged_bad' ? worst : known;
      const next = of.find((one) => open.has(one) && one.reasons.includes(reason));
      if (next === undefined || chosen.length === settings.max) continue;
      chosen.push(next);
      open.delete(next);
    }
  }
  return chosen;
}

export type ChosenQuery = ReturnType<typeof groupEqual>[number];

function groupEqual(candidates: readonly CandidateQuery[], uncovered: ReadonlySet<string>) {
  const groups = groupBy(
    candidates.filter(({ text }) => normalisedText(text) !== ''),
    ({ text, tags }) => queryKey({ text: normalisedText(text), tags }),
  );
  return [...groups.values()].map((group) => {
    const [source] = group.toSorted(
      (a, b) =>
        b.feedback.length - a.feedback.length ||
        b.grades.length - a.grades.length ||
        b.askedAt.getTime() - a.askedAt.getTime(),
    );
    const feedback = group.flatMap((one) => one.feedback);
    const asked = group.reduce((sum, { probability }) => sum + 1 / probability, 0);
    const tally = tallyOf(feedback);
    const scores = group.flatMap(({ grades }) => judgedBy(grades) ?? []);
    const judged = scores.length === 0 ? null : Math.min(...scores);
    const holds: Record<ChoiceReason, boolean> = {
      judged_bad: group.some(
        ({ grades }) => grades.length > 0 && bestGrades(grades).every((grade) => grade < RELEVANT_GRADE),
      ),
      negative_feedback: tally.negative > 0,
      uncovered: group.some(({ id }) => uncovered.has(id)),
      positive_feedback: tally.positive > 0,
      clicked: tally.clicks > 0,
      frequent: group.length >= FREQUENT,
    };
    const reasons = choiceReasons.filter((reason) => holds[reason]);
    return {
      /**
       * The query with the most feedback in the group. Ties are broken by the number of grades, and then in favor of
       * the latest query.
       */
      source: source as CandidateQuery,
      reasons,
      /**
       * Estimated number of live queries that belong to the group, including queries that were not sampled: the sum of
       * 1 / probability over the sampled queries of the group.
       */
      asked,
      feedback,
      tally,
      /** Lowest value that `judgedBy` returns for a query of the group; null if no query of the group has grades. */
      judged,
    };
  });
}

/** Returns the grade of each document. A human grade takes precedence over the grade of the model. */
function bestGrades(grades: CandidateQuery['grades']): number[] {
  const byDocument = new Map<string, number>();
  for (const { documentId, grade, judge } of grades)
    if (judge === 'person' || !byDocument.has(documentId)) byDocument.set(documentId, grade);
  return [...byDocument.values()];
}

/** Returns the best grade plus, to break ties, a tenth of the mean grade; null if there are no grades. */
function judgedBy(grades: CandidateQuery['grades']): number | null {
  const of = bestGrades(grades);
  if (of.length === 0) return null;
  return Math.max(...of) + of.reduce((sum, grade) => sum + grade, 0) / of.length / 10;
}

/** Drops near-duplicates. A query with the same words but other tags is not a near-duplicate. */
function withoutKnown(groups: readonly ChosenQuery[], golden: readonly TaggedText[]): ChosenQuery[] {
  const queries = [...golden, ...groups.map(({ source }) => source)];
  const tags = queries.map((query) => queryKey({ text: '', tags: query.tags }));
  const texts = queries.map(({ text }) => text);
  const known = new Set<number>();
  for (const { first, second } of nearDuplicates(texts, NEAR)) {
    if (!known.has(first) && tags[first] === tags[second]) known.add(second);
  }
  return groups.filter((_, index) => !known.has(golden.length + index));
}

export interface CandidateFeedback {
  readonly kind: string;
  readonly sentiment: Sentiment;
  /** The document that the feedback is about; null if the feedback is about all results. */
  readonly documentId: string | null;
  readonly count: number;
}

export interface CandidateQuery {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly askedAt: Date;
  /** Sampling probability: the query represents 1 / probability live queries. */
  readonly probability: number;
  readonly userHash: string | null;
  readonly results: readonly RetrievedDocument[];
  readonly feedback: readonly CandidateFeedback[];
  /** Grades (0 to 3) of the documents that the user saw. */
  readonly grades: readonly {
    readonly documentId: string;
    readonly grade: number;
    readonly judge: 'model' | 'person';
  }[];
}

function tallyOf(feedback: readonly CandidateFeedback[]) {
  const count = (holds: (one: CandidateFeedback) => boolean): number =>
    feedback.reduce((sum, one) => sum + (holds(one) ? one.count : 0), 0);
  return {
    /** Number of times that users gave positive feedback on the results, excluding clicks. */
    positive: count(({ kind, sentiment }) => kind !== 'click' && sentiment === 'positive'),
    negative: count(({ kind, sentiment }) => kind !== 'click' && sentiment === 'negative'),
    clicks: count(({ kind }) => kind === 'click'),
  };
}

/**
 * Pools the documents that were shown, the documents that the retriever returns now, and the documents that users
 * clicked or judged.
 *
 * Suggests grades by the first rule that applies:
 *
 * - If a person graded the document on the *Judge* page, suggests that grade minus 1, but at least 0, because golden
 *   documents with grade 1 or higher count as relevant. Ignores grades from a model.
 * - If users judged the document (feedback of the kind `relevance`), suggests 2 if more users found it relevant than
 *   irrelevant, and 0 if fewer did.
 * - If users clicked the document, suggests 2 if the results got positive feedback and no negative feedback, and 1
 *   otherwise.
 * - Otherwise, suggests nothing, because a document without clicks may still be relevant.
 *
 * @param depth number of top documents that are pooled from each list
 */
export function suggestJudgments(
  shown: readonly RetrievedDocument[],
  retrieved: readonly RetrievedDocument[],
  feedback: readonly CandidateFeedback[],
  grades: CandidateQuery['grades'],
  depth: number,
) {
  const shownRanks = ranksOf(shown.slice(0, depth));
  const ranks = ranksOf(retrieved.slice(0, depth));
  const named = feedback.flatMap(({ documentId }) => documentId ?? []);
  const answerTally = tallyOf(feedback.filter(({ documentId }) => documentId === null));
  const isPraised = answerTally.positive > 0 && answerTally.negative === 0;
  const byPerson = new Map(
    grades.flatMap((one) => (one.judge === 'person' ? [[one.documentId, one.grade] as const] : [])),
  );
  const documentIds = new Set([...ranks.keys(), ...shownRanks.keys(), ...named, ...byPerson.keys()]);
  return [...documentIds]
    .filter((id) => !isPlaceholderId(id))
    .map((documentId) => {
      const own = feedback.filter((one) => one.documentId === documentId);
      const { clicks } = tallyOf(own);
      const given = byPerson.get(documentId);
      return {
        documentId,
        /** Suggested grade; null if no rule applies, so that a person must judge the document. */
        grade:
          given !== undefined
            ? Math.max(0, given - 1)
            : (relevanceGrade(own) ?? (clicks === 0 ? null : isPraised ? 2 : 1)),
        /** Rank in the results that the user saw, from 1; null if the document was not shown. */
        shownRank: shownRanks.get(documentId) ?? null,
        /** Rank in the current results of the retriever; null if the document is not among them. */
        rank: ranks.get(documentId) ?? null,
        clicks,
      };
    });
}

function relevanceGrade(own: readonly CandidateFeedback[]): number | null {
  const { positive, negative } = tallyOf(own.filter(({ kind }) => kind === 'relevance'));
  if (positive === negative) return null;
  return positive > negative ? 2 : 0;
}
