/**
 * Ranked-retrieval measures for one query, with the same values as trec_eval.
 *
 * R is the number of documents with grade >= relevance level, ranks count from 1, and h is the number of relevant
 * documents in the top k. A document without a judgment or with a negative grade is not relevant, has no gain and keeps
 * its rank. The relevance level affects only the binary measures, never cg, dcg and ndcg.
 *
 * hit_rate@k   1 if h > 0
 * precision@k  h / k, even if fewer than k documents were returned
 * recall@k     h / R, 0 if R = 0
 * f1@k         2PR / (P + R) of precision and recall, 0 if both are 0
 * mrr@k        1 / rank of the first relevant document, 0 if that rank is greater than k, or if there is none
 * map@k        sum of the precision at each relevant rank <= k, divided by R
 * cg@k         sum of grade (Järvelin and Kekäläinen 2002)
 * dcg@k        sum of grade / log2(rank + 1), the discount of Burges et al. 2005 and trec_eval; Järvelin and
 *              Kekäläinen 2002 leave the first two ranks undiscounted
 * ndcg@k       dcg@k / dcg@k of the best ranking of ALL judged documents, retrieved or not; 0 if that is 0
 * ndcg_exp@k   like ndcg, with the gain 2^grade - 1
 * union_recall@k  recall of the union of several rankings (`union.ts`); recall@k for a single ranking
 * all_found@k  1 if union_recall@k = 1, else 0
 * unjudged@k   documents in the top k without a judgment (or with a negative grade) / k
 *
 * Without @k, measures use the whole ranking, and the ideal ranking has every judged document.
 */
import type { Measure, MetricKey } from './metric-key.ts';
import type { Ranking } from './ranking.ts';

/** Integer grades, keyed by document id: the judgments for one query. */
export type GradeByDocument = ReadonlyMap<string, number>;

/** Scores one ranking. The values are aligned with the evaluator's metric keys. */
export type Evaluator = (ranking: Ranking, judgments: GradeByDocument) => number[];

/**
 * Scores a ranking. The first `length` elements of `grades` are the grades by rank; a document without a judgment has a
 * negative grade. `judged` contains the grades of all judged documents.
 */
export type GradeEvaluator = (grades: Float64Array, length: number, judged: Float64Array) => number[];

const noSums = { hits: 0, precisionSum: 0, unjudged: 0, cg: 0, dcg: 0, dcgExponential: 0 };

/** Counts and sums over the top `depth` ranks of a ranking, and of its ideal order. */
type Cut = typeof noSums & { readonly depth: number; idealDcg: number; idealDcgExponential: number };

/**
 * Computes the value of a measure at a cutoff from the number of relevant documents and the rank of the first relevant
 * document (infinite if there is none).
 */
type Formula = (cut: Cut, relevant: number, firstRelevant: number) => number;

const formulas: Readonly<Record<Measure, Formula>> = {
  hit_rate: (cut) => (cut.hits > 0 ? 1 : 0),
  precision: (cut) => cut.hits / cut.depth,
  recall: (cut, relevant) => ratio(cut.hits, relevant),
  f1: (cut, relevant) => harmonicMean(cut.hits / cut.depth, ratio(cut.hits, relevant)),
  mrr: (cut, _relevant, firstRelevant) => (firstRelevant <= cut.depth ? 1 / firstRelevant : 0),
  map: (cut, relevant) => ratio(cut.precisionSum, relevant),
  cg: (cut) => cut.cg,
  dcg: (cut) => cut.dcg,
  ndcg: (cut) => ratio(cut.dcg, cut.idealDcg),
  ndcg_exp: (cut) => ratio(cut.dcgExponential, cut.idealDcgExponential),
  union_recall: (cut, relevant) => ratio(cut.hits, relevant),
  all_found: (cut, relevant) => (relevant > 0 && cut.hits === relevant ? 1 : 0),
  unjudged: (cut) => cut.unjudged / cut.depth,
};

/** Maximum exponent of a gain: a double can represent the sum of a million gains of 2^1000. */
const MAX_EXPONENT = 1000;

/**
 * Creates an evaluator that scores many rankings with the same metrics (see `createGradeEvaluator`). A ranking must not
 * contain a document twice (`applyDuplicatePolicy`).
 *
 * @param relevanceLevel minimum grade of a relevant document, an integer >= 1
 */
export function createEvaluator(keys: readonly MetricKey[], relevanceLevel: number): Evaluator {
  const evaluate = createGradeEvaluator(keys, relevanceLevel);
  const deepest = Math.max(0, ...keys.map(depthOf));
  let grades = new Float64Array(64);
  let judged = new Float64Array(64);
  return (ranking, judgments) => {
    if (grades.length < ranking.length) grades = new Float64Array(ranking.length * 2);
    if (judged.length < judgments.size) judged = new Float64Array(judgments.size * 2);
    let count = 0;
    for (const grade of judgments.values()) judged[count++] = grade;
    const looked = Math.min(ranking.length, deepest);
    for (let place = 0; place < looked; place++) {
      const id = ranking[place];
      grades[place] = id === null || id === undefined ? UNJUDGED : (judgments.get(id) ?? UNJUDGED);
    }
    return evaluate(grades, ranking.length, judged.subarray(0, count));
  };
}

const UNJUDGED = -1;

/**
 * Creates an evaluator that scores many rankings with the same metrics, in one pass over each ranking and with reused
 * buffers. Each judged document may occur at most once in a ranking; every measure except cg and dcg is then between 0
 * and 1. No value is ever NaN.
 *
 * @param relevanceLevel minimum grade of a relevant document, an integer >= 1
 */
export function createGradeEvaluator(keys: readonly MetricKey[], relevanceLevel: number): GradeEvaluator {
  const depths = [...new Set(keys.map(depthOf))].toSorted((a, b) => a - b);
  const cuts = depths.map((depth): Cut => ({ depth, ...noSums, idealDcg: 0, idealDcgExponential: 0 }));
  const columns = keys.flatMap((key) => {
    const cut = cuts[depths.indexOf(depthOf(key))];
    return cut === undefined ? [] : [{ formula: formulas[key.measure], cut }];
  });
  const wantsExponential = keys.some(({ measure }) => measure === 'ndcg_exp');
  const wantsGain = wantsExponential || keys.some(({ measure }) => measure === 'ndcg' || measure === 'dcg');
  const discounts: number[] = [];
  let buffer = new Float64Array(64);

  function prepareDiscounts(ranks: number): void {
    for (let rank = discounts.length; rank <= ranks; rank++) discounts.push(Math.log2(rank + 1));
  }

  /** The grades above 0, in ascending order. */
  function positiveGrades(judged: Float64Array): Float64Array {
    if (buffer.length < judged.length) buffer = new Float64Array(judged.length * 2);
    let count = 0;
    for (const grade of judged) {
      if (grade > 0) buffer[count++] = grade;
    }
    const positive = buffer.subarray(0, count);
    positive.sort();
    return positive;
  }

  function measureIdeal(grades: Float64Array, shift: number): void {
    let rank = 1;
    let dcg = 0;
    let dcgExponential = 0;
    for (const cut of cuts) {
      const end = Math.min(grades.length, cut.depth);
      for (; rank <= end; rank++) {
        const grade = grades[grades.length - rank] ?? 0;
        const discount = discounts[rank] ?? 1;
        dcg += grade / discount;
        if (wantsExponential) dcgExponential += exponentialGain(grade, shift) / discount;
      }
      cut.idealDcg = dcg;
      cut.idealDcgExponential = dcgExponential;
    }
  }

  return (grades, length, judged) => {
    let relevant = 0;
    for (const grade of judged) if (grade >= relevanceLevel) relevant++;
    let shift = 0;
    if (wantsGain) {
      prepareDiscounts(Math.max(length, judged.length));
      const ideal = positiveGrades(judged);
      shift = Math.max(0, (ideal.at(-1) ?? 0) - MAX_EXPONENT);
      measureIdeal(ideal, shift);
    }

    let rank = 1;
    let firstRelevant = Number.POSITIVE_INFINITY;
    let hits = 0;
    let precisionSum = 0;
    let unjudged = 0;
    let cg = 0;
    let dcg = 0;
    let dcgExponential = 0;
    for (const cut of cuts) {
      const end = Math.min(length, cut.depth);
      for (; rank <= end; rank++) {
        const grade = grades[rank - 1] ?? UNJUDGED;
        if (grade < 0) {
          unjudged++;
        } else if (grade > 0) {
          if (grade >= relevanceLevel) {
            hits++;
            precisionSum += hits / rank;
            if (hits === 1) firstRelevant = rank;
          }
          cg += grade;
          if (wantsGain) {
            const discount = discounts[rank] ?? 1;
            dcg += grade / discount;
            if (wantsExponential) dcgExponential += exponentialGain(grade, shift) / discount;
          }
        }
      }
      cut.hits = hits;
      cut.precisionSum = precisionSum;
      cut.unjudged = unjudged;
      cut.cg = cg;
      cut.dcg = dcg;
      cut.dcgExponential = dcgExponential;
    }
    return columns.map(({ formula, cut }) => formula(cut, relevant, firstRelevant));
  };
}

/**
 * Scores one ranking with the measures defined at the top of this file. To score many rankings, create one evaluator
 * instead.
 *
 * @param ranking best first, no document twice
 * @param judgments integer grade of each document judged for the query
 * @param relevanceLevel minimum grade of a relevant document, an integer >= 1
 * @returns values aligned with `keys`; never NaN
 */
export function evaluateRanking(
  ranking: Ranking,
  judgments: GradeByDocument,
  keys: readonly MetricKey[],
  relevanceLevel: number,
): number[] {
  return createEvaluator(keys, relevanceLevel)(ranking, judgments);
}

/** Returns reached / possible, or 0 if `possible` is 0. The result is at most 1 despite rounding in the sums. */
function ratio(reached: number, possible: number): number {
  return possible === 0 ? 0 : Math.min(1, reached / possible);
}

function harmonicMean(a: number, b: number): number {
  return a + b === 0 ? 0 : (2 * a * b) / (a + b);
}

/**
 * Returns 2^grade - 1, divided by 2^shift. The ratio of two sums of gains does not depend on the shift, which is
 * positive only if 2^grade would not fit in a double.
 */
function exponentialGain(grade: number, shift: number): number {
  return 2 ** (grade - shift) - 2 ** -shift;
}

function depthOf(key: MetricKey): number {
  return key.k ?? Number.POSITIVE_INFINITY;
}
