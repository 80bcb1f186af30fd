/**
 * Graded queries of a window -> what all live traffic comes to, by people where they graded, else by the model alone;
 * and how much of nDCG is owed to an ideal order that knows no document but those which users got.
 */

import { ALL_SEGMENT, type QueryOutcome } from '../../core/model.ts';
import { groupBySegment } from '../../golden/rules/golden-set.ts';
import { evaluateRanking } from '../../math/ir/evaluate.ts';
import type { Interval } from '../../math/stats/intervals.ts';
import { type Agreement, agreementOf, type GradedPair } from './agreement.ts';
import { type JudgedMean, type JudgedQuery, judgedMean, scoreBounds } from './judged-mean.ts';
import { judgedScores, RELEVANT_GRADE, type ScoredMeasure, scoredMeasures } from './judged-scores.ts';

/** A document of a drawn query. */
export interface GradedDocument {
  /** Whether anybody can read it: it was there when it was looked for. */
  readonly hasText: boolean;
  /** `failed`: the judge was asked and gave no grade; null: it was not asked. */
  readonly model: number | 'failed' | null;
  readonly person: number | null;
  /** By another person, who did not see that of the first. */
  readonly second: number | null;
}

/** A drawn query whose turn is over. */
export interface GradedQuery {
  /** Names its session. */
  readonly cluster: number;
  readonly outcome: QueryOutcome;
  readonly tags: Readonly<Record<string, string>>;
  /** Chance of being kept and drawn. */
  readonly probability: number;
  /** Whether it was drawn for people; what they grade beyond it is no random part of the traffic. */
  readonly needsHuman: boolean;
  /** The judges that graded its documents; more than one when the judge changed meanwhile. */
  readonly judges: readonly string[];
  /** Best first; empty for a query that failed or found nothing. */
  readonly documents: readonly GradedDocument[];
}

export interface JudgedWindow {
  readonly depth: number;
  /** Live queries of the window, sampled or not, by outcome. */
  readonly counted: Readonly<Partial<Record<QueryOutcome, number>>>;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Who grades now; null where people alone do. */
  readonly judge: string | null;
}

type JudgedOutcome = { readonly segment: string; readonly measure: JudgedMeasureKey } & (
  | {
      readonly kind: 'value';
      readonly value: number;
      readonly ciLow: number;
      readonly ciHigh: number;
      /** Queries that anybody graded. */
      readonly n: number;
      readonly details: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'no_data'; readonly reason: 'too_few_judgments' | 'too_few_queries' | 'judge_failing' }
);

/** What each score is stored as: by people, and by the model alone. */
export const measuresOfScore = {
  ndcg: ['live_ndcg', 'live_ndcg_uncorrected'],
  precision: ['live_precision', 'live_precision_uncorrected'],
  hit_rate: ['live_hit_rate', 'live_hit_rate_uncorrected'],
  mrr: ['live_mrr', 'live_mrr_uncorrected'],
} as const satisfies Record<ScoredMeasure, readonly [string, string]>;

type JudgedMeasureKey = (typeof measuresOfScore)[ScoredMeasure][number];

/** Until people have graded so many sessions, what the model says stands alone, and is called uncorrected. */
const MIN_HUMAN_SESSIONS = 8;
/** Of more failures than this the model's mean says more of the judge than of the retriever. */
const MAX_FAILED_SHARE = 0.2;

/** All drawn queries with their weights and what a score of them comes to, by the model and by people. */
export function judgedQueriesOf(
  queries: readonly GradedQuery[],
  window: JudgedWindow,
  measure: ScoredMeasure,
): JudgedQuery[] {
  const scored = queries.map((query) => scoredQuery(query, window));
  const weigh = weightsOf(scored, window);
  return scored.map((query) => judgedQuery(query, measure, weigh));
}

/** What the judge of now says by itself; null where it has graded too little, or failed too often. */
export function modelMean(
  queries: readonly GradedQuery[],
  window: JudgedWindow,
  measure: ScoredMeasure,
): (JudgedMean & Interval & { readonly n: number }) | null {
  const scored = queries.map((query) => scoredQuery(query, window));
  const own = scored.filter(({ outcome, now }) => outcome === 'ok' && now !== null);
  const failed = own.filter(({ hasFailed }) => hasFailed).length;
  if (own.length === 0 || failed > MAX_FAILED_SHARE * own.length) return null;
  const weigh = weightsOf(scored, window);
  const mean = judgedMean(scored.map((query) => asItsOwnPeople(query, measure, weigh.now)));
  return mean === null ? null : { ...mean, ...scoreBounds(mean), n: own.length };
}

/** A query with its scores by each judge; null where that judge did not grade all of it. */
interface ScoredQuery extends GradedQuery {
  readonly model: Readonly<Record<ScoredMeasure, number>> | null;
  readonly people: Readonly<Record<ScoredMeasure, number>> | null;
  /** Those of the model, where the judge of now gave all of its grades. */
  readonly now: Readonly<Record<ScoredMeasure, number>> | null;
  /** The judge failed on a document of it. */
  readonly hasFailed: boolean;
}

/**
 * The measures of all traffic and of each segment. Weights are inverse probabilities, held to the counted arrivals of each
 * outcome, both of the queries that the model graded and of those that people did: what nobody could grade is taken to be
 * as the rest of its outcome. A document that the judge failed on, or that had gone, has grade 0.
 *
 * Corrected scores take the grades of every judge of the window, since they hold whatever the judge's bias is; what the
 * model says alone is of the judge of now, so that a change of the judge is no change of the score.
 */
export function judgedMeasures(queries: readonly GradedQuery[], window: JudgedWindow): JudgedOutcome[] {
  const scored = queries.map((query) => scoredQuery(query, window));
  const { segments } = groupBySegment(scored, window.segmentKeys, window.maxSegments);
  const weigh = weightsOf(scored, window);
  const of = [
    { name: ALL_SEGMENT, members: scored },
    ...segments.map(({ name, members }) => ({ name, members: members.flatMap((index) => scored[index] ?? []) })),
  ];
  return of.flatMap(({ name, members }) => measureSegment(name, members, weigh));
}

function scoredQuery(query: GradedQuery, { depth, judge }: Pick<JudgedWindow, 'depth' | 'judge'>): ScoredQuery {
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

/** What the weights of queries are multiplied by, by outcome: counted over what they stand for. */
function factorsOf(
  queries: readonly Pick<GradedQuery, 'outcome' | 'probability'>[],
  counted: JudgedWindow['counted'],
): Factors {
  const standsFor: Partial<Record<QueryOutcome, number>> = {};
  for (const { outcome, probability } of queries) standsFor[outcome] = (standsFor[outcome] ?? 0) + 1 / probability;
  return Object.fromEntries(
    Object.entries(standsFor).map(([outcome, sum]) => [outcome, (counted[outcome as QueryOutcome] || sum) / sum]),
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
  const byNow = asked.filter(({ now }) => now !== null);
  const failed = byNow.filter(({ hasFailed }) => hasFailed).length;
  const n = asked.filter(({ people, model }) => people !== null || model !== null).length;
  const counts = { model: byModel.length, people: byPeople.length, human_sessions: sessions, failed };
  const isCorrected = sessions >= MIN_HUMAN_SESSIONS;
  return scoredMeasures.flatMap((measure): JudgedOutcome[] => {
    const judged = queries.map((query) => judgedQuery(query, measure, weigh));
    const [byPeopleToo, byModelAlone] = measuresOfScore[measure];
    const corrected = { segment, measure: byPeopleToo };
    if (isCorrected) {
      const mean = judgedMean(judged);
      if (mean !== null) return [{ ...corrected, ...valueOf(mean, n, { ...counts, lambda: mean.lambda }) }];
    }
    const gap = { ...corrected, kind: 'no_data', reason: 'too_few_judgments' } as const;
    if (byModel.length === 0) return [gap];
    const uncorrected = { segment, measure: byModelAlone };
    if (failed > MAX_FAILED_SHARE * byNow.length)
      return [gap, { ...uncorrected, kind: 'no_data', reason: 'judge_failing' }];
    const own = queries.map((query) => asItsOwnPeople(query, measure, weigh.now));
    const mean = byNow.length === 0 ? null : judgedMean(own);
    if (mean === null) return [gap, { ...uncorrected, kind: 'no_data', reason: 'too_few_queries' }];
    return [gap, { ...uncorrected, ...valueOf(mean, byNow.length, counts) }];
  });
}

/** The mean of the model by itself is that of people who grade as it does. */
function asItsOwnPeople(
  { cluster, outcome, probability, now }: ScoredQuery,
  measure: ScoredMeasure,
  weigh: Factors,
): JudgedQuery {
  const chance = probability / (weigh[outcome] ?? 1);
  return { cluster, modelProbability: chance, humanProbability: chance, people: now?.[measure] ?? null, model: null };
}

function valueOf(mean: JudgedMean, n: number, details: Readonly<Record<string, number>>) {
  const { low, high } = scoreBounds(mean);
  return { kind: 'value', value: Math.min(1, Math.max(0, mean.value)), ciLow: low, ciHigh: high, n, details } as const;
}

/** Sessions of which people graded a query that was drawn for them. */
export function humanSessions(queries: readonly GradedQuery[]): number {
  const graded = queries.filter(
    (query) => query.outcome === 'ok' && scoredQuery(query, { depth: 1, judge: null }).people !== null,
  );
  return new Set(graded.map(({ cluster }) => cluster)).size;
}

/** How well the judge of now grades as people do, over the documents that both graded; null where too little is known. */
export function judgeAgreement(queries: readonly GradedQuery[], judge: string | null): Agreement | null {
  const own = queries.filter(({ judges }) => judges.every((one) => one === judge));
  return agreementOf(pairsOf(own, ({ model, person }) => (typeof model === 'number' ? [model, person] : [null, null])));
}

/** How well two people grade alike, who did not see each other's grades; null where too little is known. */
export function humanAgreement(queries: readonly GradedQuery[]): Agreement | null {
  return agreementOf(pairsOf(queries, ({ person, second }) => [person, second]));
}

type Grades = readonly [first: number | null, second: number | null];

/** Of what was drawn for people, the documents with both grades. */
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
 * nDCG of what users got, by two ideal orders: of these documents alone, and of these with what a deeper search of the
 * store brought.
 *
 * @param shown grades, best document first
 * @param deeper grades of documents that are not among them
 * @param depth >= 1
 * @returns `deeper` <= `shown`, both 0 to 1 and 0 where all that was shown has grade 0
 */
export function poolScores(shown: readonly number[], pooled: readonly number[], depth: number) {
  const ranking = shown.slice(0, depth).map((_, rank) => `${rank}`);
  const known = ranking.map((id, rank): [string, number] => [id, shown[rank] ?? 0]);
  const others = pooled.map((grade, at): [string, number] => [`pooled ${at}`, grade]);
  const ndcg = (judgments: readonly [string, number][]): number =>
    evaluateRanking(ranking, new Map(judgments), [{ measure: 'ndcg', k: depth }], RELEVANT_GRADE)[0] ?? 0;
  return { shown: ndcg(known), pooled: ndcg([...known, ...others]) };
}

/** A drawn query that was searched deeper, or that failed or found nothing. */
export interface PooledQuery {
  /** Names its session. */
  readonly cluster: number;
  readonly outcome: QueryOutcome;
  /** Chance of being kept, drawn and searched deeper; of being kept and drawn where there was nothing to search for. */
  readonly probability: number;
  /** nDCG by what was shown alone, less that by the deeper pool; 0 where it failed or found nothing. */
  readonly gap: number;
}

/**
 * Mean over all live queries of what nDCG falls by, once its ideal order knows what a deeper search brings. By the model
 * alone. Weights are inverse probabilities, held to the counted arrivals of each outcome.
 *
 * @param counted live queries of the window, sampled or not, by outcome
 * @returns null when fewer than 2 sessions were searched; `n`: queries that were
 */
export function poolGap(
  queries: readonly PooledQuery[],
  counted: Readonly<Partial<Record<QueryOutcome, number>>>,
): (JudgedMean & Interval & { readonly n: number }) | null {
  const searched = queries.filter(({ outcome }) => outcome === 'ok');
  if (new Set(searched.map(({ cluster }) => cluster)).size < 2) return null;
  const factors = factorsOf(queries, counted);
  const mean = judgedMean(
    queries.map(({ cluster, outcome, probability, gap }) => {
      const chance = probability / (factors[outcome] ?? 1);
      return { cluster, modelProbability: chance, humanProbability: chance, people: gap, model: null };
    }),
  );
  return mean === null ? null : { ...mean, ...scoreBounds(mean), n: searched.length };
}
