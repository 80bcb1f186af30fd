/**
 * Estimates scores of all live traffic from the graded queries of a window: from human judgments if there are enough,
 * otherwise from the model alone. Also estimates by how much nDCG is too high because its ideal order contains only
 * documents that users got.
 */

import { ALL_SEGMENT, type QueryOutcome } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import { evaluateRanking } from '../../math/ir/evaluate.ts';
import type { Bounds } from '../../math/stats/intervals.ts';
import { type Agreement, agreementOf, type GradedPair } from './agreement.ts';
import { type JudgedMean, type JudgedQuery, judgedMean, scoreBounds, weightedMean } from './judged-mean.ts';
import { judgedScores, RELEVANT_GRADE, type ScoredMeasure, scoredMeasures } from './judged-scores.ts';

/** A document of a selected query. */
export interface GradedDocument {
  readonly hasText: boolean;
  /** `failed` if the judge gave no grade; null if the judge was not called. */
  readonly model: number | 'failed' | null;
  readonly person: number | null;
  readonly second: number | null;
}

export interface GradedQuery {
  /** Identifies the session of the query. */
  readonly cluster: number;
  readonly outcome: QueryOutcome;
  readonly tags: Readonly<Record<string, string>>;
  /** Probability that the query is sampled and selected. */
  readonly probability: number;
  /**
   * True if the query was selected for human grading. Human judgments of other queries are not a random sample of the
   * traffic.
   */
  readonly needsHuman: boolean;
  /**
   * Fingerprints of the judges that graded the documents of the query. The list has several entries if the judge
   * changed during grading.
   */
  readonly judges: readonly string[];
  /** Documents, best first; empty for a failed or empty query. */
  readonly documents: readonly GradedDocument[];
}

export interface JudgedWindow {
  readonly depth: number;
  /** Number of live queries in the window by outcome, whether sampled or not. */
  readonly counted: Readonly<Partial<Record<QueryOutcome, number>>>;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Fingerprint of the current judge; null if there is no model judge. */
  readonly judge: string | null;
}

type JudgedOutcome = { readonly segment: string; readonly measure: JudgedMeasureKey } & (
  | ReturnType<typeof valueOf>
  | { readonly kind: 'no_data'; readonly reason: 'too_few_judgments' | 'too_few_queries' | 'judge_failing' }
);

/** Two measures for each score: one corrected by human judgments, and one from the model's grades alone. */
export const measuresOfScore = {
  ndcg: ['live_ndcg', 'live_ndcg_uncorrected'],
  precision: ['live_precision', 'live_precision_uncorrected'],
  hit_rate: ['live_hit_rate', 'live_hit_rate_uncorrected'],
  mrr: ['live_mrr', 'live_mrr_uncorrected'],
} as const satisfies Record<ScoredMeasure, readonly [string, string]>;

type JudgedMeasureKey = (typeof measuresOfScore)[ScoredMeasure][number];

/**
 * Minimum number of human-graded sessions for a corrected score. With fewer sessions, recalld exports the model's score
 * as uncorrected.
 */
const MIN_HUMAN_SESSIONS = 8;
/**
 * Maximum share of queries on which the judge failed. Beyond this share of failures, the model's mean reflects the
 * judge more than the retriever.
 */
const MAX_FAILED_SHARE = 0.2;

export function judgedQueriesOf(queries: readonly GradedQuery[], window: JudgedWindow, measure: ScoredMeasure) {
  const scored = queries.map((query) => scoredQuery(query, window.depth, window.judge));
  const weigh = weightsOf(scored, window);
  return scored.map((query) => judgedQuery(query, measure, weigh));
}

/** Mean score from the current judge alone; null if this judge has graded too little or failed too often. */
export function modelMean(queries: readonly GradedQuery[], window: JudgedWindow, measure: ScoredMeasure) {
  const scored = queries.map((query) => scoredQuery(query, window.depth, window.judge));
  const own = scored.filter(({ outcome, now }) => outcome === 'ok' && now !== null);
  const failed = own.filter(({ hasFailed }) => hasFailed).length;
  if (own.length === 0 || failed > MAX_FAILED_SHARE * own.length) return null;
  const weigh = weightsOf(scored, window);
  const mean = weightedMean(scored.map((query) => currentScore(query, measure, weigh.now)));
  return mean && { ...mean, n: own.length };
}

/**
 * A query with its scores from model grades and from human judgments. A set of scores is null if some of its grades are
 * missing.
 */
interface ScoredQuery extends GradedQuery {
  readonly model: Readonly<Record<ScoredMeasure, number>> | null;
  readonly people: Readonly<Record<ScoredMeasure, number>> | null;
  /** Model scores if the current judge graded every document; otherwise null. */
  readonly now: Readonly<Record<ScoredMeasure, number>> | null;
  readonly hasFailed: boolean;
}

/**
 * Estimates the measures of all traffic and of each segment. Weights are inverse probabilities, calibrated to the
 * counted arrivals of each outcome, separately for model-graded and human-graded queries. Calibration assumes that
 * queries that could not be graded resemble the graded queries with the same outcome. A document that was deleted or
 * that the judge failed on has grade 0.
 *
 * Corrected scores are valid however biased the judges are, so they use the grades of every judge in the window.
 * Uncorrected scores use the current judge only, so that a change in the judge does not look like a change in the
 * score.
 */
export function judgedMeasures(queries: readonly GradedQuery[], window: JudgedWindow): JudgedOutcome[] {
  const scored = queries.map((query) => scoredQuery(query, window.depth, window.judge));
  const { segments } = groupBySegment(scored, window.segmentKeys, window.maxSegments);
  const weigh = weightsOf(scored, window);
  const of = [
    { name: ALL_SEGMENT, members: scored },
    ...segments.map(({ name, members }) => ({ name, members: members.flatMap((index) => scored[index] ?? []) })),
  ];
  return of.flatMap(({ name, members }) => measureSegment(name, members, weigh));
}

function scoredQuery(query: GradedQuery, depth: number, judge: string | null): ScoredQuery {
  const { documents, outcome, needsHuman, judges } = query;
  if (outcome !== 'ok') {
    const nothing = judgedScores([], depth);
    return { ...query, model: nothing, people: nothing, now: nothing, hasFailed: false };
  }
  const readable = documents.filter(({ hasText }) => hasText);
  const isGradedBy = (judge: 'model' | 'person'): boolean =>
    readable.length > 0 ? readable.every((one) => one[judge] !== null) : documents.some((one) => one[judge] !== null);
  const scoresBy = (judge: 'model' | 'person') =>
    judgedScores(
      documents.map((one) => (typeof one[judge] === 'number' ? one[judge] : 0)),
      depth,
    );
  const model = isGradedBy('model') ? scoresBy('model') : null;
  return {
    ...query,
    model,
    now: judges.every((one) => one === judge) ? model : null,
    people: needsHuman && isGradedBy('person') ? scoresBy('person') : null,
    hasFailed: documents.some(({ model }) => model === 'failed'),
  };
}

type Factors = Readonly<Partial<Record<QueryOutcome, number>>>;

/** Calibration factors for the weights, by outcome: the number of counted arrivals divided by the sum of weights. */
function factorsOf(queries: readonly (GradedQuery | PooledQuery)[], counted: JudgedWindow['counted']): Factors {
  const sums: Partial<Record<QueryOutcome, number>> = {};
  for (const { outcome, probability } of queries) sums[outcome] = (sums[outcome] ?? 0) + 1 / probability;
  return Object.fromEntries(
    Object.entries(sums).map(([outcome, sum]) => [outcome, (counted[outcome as QueryOutcome] || sum) / sum]),
  );
}

type Weights = Readonly<Record<'model' | 'people' | 'now', Factors>>;

function weightsOf(scored: readonly ScoredQuery[], { counted }: JudgedWindow): Weights {
  const by = (judge: keyof Weights): Factors =>
    factorsOf(
      scored.filter((query) => query[judge] !== null),
      counted,
    );
  return { model: by('model'), people: by('people'), now: by('now') };
}

function judgedQuery(
  { cluster, outcome, probability, model, people }: ScoredQuery,
  measure: ScoredMeasure,
  weigh: Weights,
): JudgedQuery {
  return {
    cluster,
    modelProbability: probability / (weigh.model[outcome] ?? 1),
    humanProbability: probability / (weigh.people[outcome] ?? 1),
    model: model?.[measure] ?? null,
    people: people?.[measure] ?? null,
  };
}

function measureSegment(segment: string, queries: readonly ScoredQuery[], weigh: Weights): JudgedOutcome[] {
  const asked = queries.filter(({ outcome }) => outcome === 'ok');
  const byPeople = asked.filter(({ people }) => people !== null);
  const byModel = asked.filter(({ model }) => model !== null);
  const sessions = new Set(byPeople.map(({ cluster }) => cluster)).size;
  const byCurrent = asked.filter(({ now }) => now !== null);
  const failed = byCurrent.filter(({ hasFailed }) => hasFailed).length;
  const n = asked.filter(({ people, model }) => people !== null || model !== null).length;
  const counts = { model: byModel.length, people: byPeople.length, human_sessions: sessions, failed };
  const isCorrected = sessions >= MIN_HUMAN_SESSIONS;
  return scoredMeasures.flatMap((measure): JudgedOutcome[] => {
    const judged = queries.map((query) => judgedQuery(query, measure, weigh));
    const [correctedMeasure, uncorrectedMeasure] = measuresOfScore[measure];
    const corrected = { segment, measure: correctedMeasure };
    if (isCorrected) {
      const mean = judgedMean(judged);
      if (mean !== null) {
        const details = { ...counts, lambda: mean.lambda };
        return [{ ...corrected, ...valueOf({ ...mean, ...scoreBounds(mean) }, n, details) }];
      }
    }
    const gap = { ...corrected, kind: 'no_data', reason: 'too_few_judgments' } as const;
    if (byModel.length === 0) return [gap];
    const uncorrected = { segment, measure: uncorrectedMeasure };
    if (failed > MAX_FAILED_SHARE * byCurrent.length)
      return [gap, { ...uncorrected, kind: 'no_data', reason: 'judge_failing' }];
    const own = queries.map((query) => currentScore(query, measure, weigh.now));
    const mean = byCurrent.length === 0 ? null : weightedMean(own);
    if (mean === null) return [gap, { ...uncorrected, kind: 'no_data', reason: 'too_few_queries' }];
    return [gap, { ...uncorrected, ...valueOf(mean, byCurrent.length, counts) }];
  });
}

function currentScore({ cluster, outcome, probability, now }: ScoredQuery, measure: ScoredMeasure, weigh: Factors) {
  return { cluster, probability: probability / (weigh[outcome] ?? 1), score: now?.[measure] ?? null };
}

function valueOf({ value, low, high }: JudgedMean & Bounds, n: number, details: Readonly<Record<string, number>>) {
  return { kind: 'value', value: Math.min(1, Math.max(0, value)), ciLow: low, ciHigh: high, n, details } as const;
}

export function humanSessions(queries: readonly GradedQuery[]): number {
  const graded = queries.filter((query) => query.outcome === 'ok' && scoredQuery(query, 1, null).people !== null);
  return new Set(graded.map(({ cluster }) => cluster)).size;
}

/**
 * Agreement between the current judge and people on the documents that both graded; null if there is too little data.
 */
export function judgeAgreement(queries: readonly GradedQuery[], judge: string | null): Agreement | null {
  const own = queries.filter(({ judges }) => judges.every((one) => one === judge));
  return agreementOf(pairsOf(own, ({ model, person }) => (typeof model === 'number' ? [model, person] : [null, null])));
}

/** Agreement between two people who graded independently; null if there is too little data. */
export function humanAgreement(queries: readonly GradedQuery[]): Agreement | null {
  return agreementOf(pairsOf(queries, ({ person, second }) => [person, second]));
}

type Grades = readonly [first: number | null, second: number | null];

/**
 * Returns a pair of grades for each document that has both grades. Uses only queries selected for human grading, which
 * are a random sample.
 */
function pairsOf(queries: readonly GradedQuery[], gradesOf: (document: GradedDocument) => Grades): GradedPair[] {
  return queries.flatMap(({ cluster, probability, needsHuman, documents }) =>
    documents.flatMap((document): GradedPair[] => {
      const [first, second] = gradesOf(document);
      if (!needsHuman || first === null || second === null) return [];
      return [{ cluster, weight: 1 / probability, first, second }];
    }),
  );
}

/**
 * Computes nDCG of the shown documents against two ideal rankings. One ideal ranking contains only the shown documents,
 * and the other also contains the pooled documents.
 *
 * @param shown grades, best document first
 * @param pooled grades of documents that are not among `shown`
 * @param depth >= 1
 * @returns two scores from 0 to 1; `pooled` is at most `shown`, and both are 0 if all shown documents have grade 0
 */
export function poolScores(shown: readonly number[], pooled: readonly number[], depth: number) {
  const ranking = shown.slice(0, depth).map((_, rank) => `${rank}`);
  const known = ranking.map((id, rank): [string, number] => [id, shown[rank] ?? 0]);
  const others = pooled.map((grade, at): [string, number] => [`pooled ${at}`, grade]);
  const ndcg = (judgments: readonly [string, number][]): number =>
    evaluateRanking(ranking, new Map(judgments), [{ measure: 'ndcg', k: depth }], RELEVANT_GRADE)[0] ?? 0;
  return { shown: ndcg(known), pooled: ndcg([...known, ...others]) };
}

/** A selected query with a judgment pool, or a query that failed or was empty. */
export interface PooledQuery {
  /** Identifies the session of the query. */
  readonly cluster: number;
  readonly outcome: QueryOutcome;
  /** Probability that the query is sampled, selected and pooled; pooling does not apply to a failed or empty query. */
  readonly probability: number;
  /** nDCG without the pool minus nDCG with it; 0 for a failed or empty query. */
  readonly gap: number;
}

/**
 * Estimates the mean decrease in nDCG, over all live queries, that results from including the pool in the ideal order.
 * Uses model grades only. Weights are inverse probabilities, calibrated to the counted arrivals of each outcome.
 *
 * @param counted number of live queries in the window by outcome, whether sampled or not
 * @returns null if there are fewer than 2 pooled sessions; `n` is the number of pooled queries
 */
export function poolGap(queries: readonly PooledQuery[], counted: Readonly<Partial<Record<QueryOutcome, number>>>) {
  const searched = queries.filter(({ outcome }) => outcome === 'ok');
  if (new Set(searched.map(({ cluster }) => cluster)).size < 2) return null;
  const factors = factorsOf(queries, counted);
  const mean = weightedMean(
    queries.map(({ cluster, outcome, probability, gap }) => ({
      cluster,
      probability: probability / (factors[outcome] ?? 1),
      score: gap,
    })),
  );
  return mean && { ...mean, n: searched.length };
}
