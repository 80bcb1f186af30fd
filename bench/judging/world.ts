/** Simulates live traffic with human judgments and the grades of an imperfect judge, and samples it as recalld does. */

import { type GradedPair, weightedKappa } from '../../src/judging/rules/agreement.ts';
import type { JudgedQuery } from '../../src/judging/rules/judged-mean.ts';
import {
  type JudgedScores,
  judgedScores,
  MAX_GRADE,
  type ScoredMeasure,
} from '../../src/judging/rules/judged-scores.ts';
import type { RandomNumbers } from '../random-numbers.ts';

export interface Judge {
  /** Mean difference between the judge's grade and the human grade (judge minus human), before rounding. */
  readonly bias: number;
  /** Target for the weighted kappa between the judge's grades and the human grades. */
  readonly kappa: number;
}

/**
 * Fault of a query. `content`: the requested content is missing, so the grades of documents are lower by two. `order`:
 * the best documents come last. `misread`: retrieval has no fault, but the judge's grades are too low by two.
 */
export type Fault = 'content' | 'order' | 'misread';

export interface Query {
  readonly people: Readonly<Record<ScoredMeasure, number>>;
  readonly model: Readonly<Record<ScoredMeasure, number>>;
  /** Human grade and judge's grade of each document, by rank. */
  readonly grades: readonly (readonly [number, number])[];
  /** Sampling probability. */
  readonly kept: number;
  /** True if a cheap signal indicates poor results. */
  readonly isSuspect: boolean;
}

export interface World {
  readonly sessions: readonly (readonly Query[])[];
  readonly truth: Readonly<Record<ScoredMeasure, number>>;
  /** Weighted kappa between the simulated judge's grades and the human grades. */
  readonly kappa: number;
}

const DEPTH = 5;
const GRADES = MAX_GRADE + 1;
const RATE = 0.2;
const QUERIES = 3;

const TWO_GRADES = 2.2;

/**
 * Unrounded human grade of a document: lower at later ranks, and correlated within a query and, more weakly, within a
 * session.
 */
function latent(random: RandomNumbers, session: number, query: number, rank: number): number {
  return 2 - 0.25 * rank + 0.5 * session + 0.6 * query + 0.8 * random.normal();
}

export const gradeOf = (value: number): number => Math.min(MAX_GRADE, Math.max(0, Math.round(value)));

/** Samples the unrounded human grade of a document at a random rank. */
export const latentOf = (random: RandomNumbers): number =>
  latent(random, random.normal(), random.normal(), random.below(DEPTH));

/**
 * Returns the standard deviation of the noise with which a judge that has this bias reaches this kappa. Half of the
 * variance of the noise is shared by all documents of a query.
 */
export function noiseFor({ bias, kappa }: Judge, random: RandomNumbers): number {
  const tried = Array.from({ length: 20_000 }, (_, at) => {
    const value = latent(random, random.normal(), random.normal(), at % DEPTH);
    return { value, grade: gradeOf(value), noise: random.normal() };
  });
  let [low, high] = [0, 8];
  for (let step = 0; step < 30; step++) {
    const middle = (low + high) / 2;
    const pairs = createPairCounts();
    for (const { value, grade, noise } of tried) pairs.add(grade, gradeOf(value + bias + middle * noise));
    if (pairs.kappa() > kappa) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Counts pairs of grades by combination, because there are far fewer combinations than pairs. */
function createPairCounts(): { add(first: number, second: number): void; kappa(): number } {
  const counts = new Float64Array(GRADES * GRADES);
  return {
    add(first, second) {
      counts[GRADES * first + second] = (counts[GRADES * first + second] ?? 0) + 1;
    },
    kappa() {
      const pairs = Array.from(counts, (weight, at) => ({
        cluster: at,
        weight,
        first: Math.floor(at / GRADES),
        second: at % GRADES,
      }));
      return weightedKappa(pairs) ?? 0;
    },
  };
}

const known = new Map<string, JudgedScores>();

/** Caches the scores by grades, because the number of ways to grade a query is small. */
function scoresOf(grades: readonly number[]): JudgedScores {
  const key = grades.join('');
  const scores = known.get(key) ?? judgedScores(grades, DEPTH);
  known.set(key, scores);
  return scores;
}

/** Bias and noise of the judge, and the fault of every query; without `fault`, no query has a fault. */
export interface WorldSettings {
  readonly bias: number;
  readonly noise: number;
  readonly fault?: Fault;
}

export function createWorld({ bias, noise, fault }: WorldSettings, sessions: number, random: RandomNumbers): World {
  const pairs = createPairCounts();
  const all = Array.from({ length: sessions }, () => {
    const session = random.normal();
    return Array.from({ length: 1 + random.below(2 * QUERIES - 1) }, (): Query => {
      const query = random.normal();
      const healthy = Array.from({ length: DEPTH }, (_, rank) => latent(random, session, query, rank));
      const values =
        fault === 'content'
          ? healthy.map((value) => value - TWO_GRADES)
          : fault === 'order'
            ? healthy.toSorted((a, b) => a - b)
            : healthy;
      const misread = fault === 'misread' ? TWO_GRADES : 0;
      // Half of the variance of the judge's noise is shared by all documents of a query.
      const shared = random.normal();
      const people = values.map(gradeOf);
      const model = values.map((value) =>
        gradeOf(value - misread + bias + noise * (Math.SQRT1_2 * shared + Math.SQRT1_2 * random.normal())),
      );
      for (const [rank, grade] of people.entries()) pairs.add(grade, model[rank] ?? 0);
      const isSuspect = random.uniform() < (people.every((grade) => grade < 2) ? 0.3 : 0.02);
      const kept = isSuspect ? 1 : RATE;
      const grades = people.map((grade, rank) => [grade, model[rank] ?? 0] as const);
      return { people: scoresOf(people), model: scoresOf(model), grades, kept, isSuspect };
    });
  });
  const queries = all.flat();
  const meanOf = (measure: ScoredMeasure): number =>
    queries.reduce((sum, { people }) => sum + people[measure], 0) / queries.length;
  return {
    sessions: all,
    truth: { ndcg: meanOf('ndcg'), precision: meanOf('precision'), hit_rate: meanOf('hit_rate'), mrr: meanOf('mrr') },
    kappa: pairs.kappa(),
  };
}

export interface Budget {
  /** Mean number of queries that the model grades. */
  readonly model: number;
  /** Mean number of queries that people grade, out of those that the model grades. */
  readonly people: number;
}

interface Draw {
  readonly scores: (measure: ScoredMeasure) => JudgedQuery[];
  /** Returns the two grades of each document that both the model and people graded. */
  readonly pairs: () => GradedPair[];
}

/**
 * Samples queries for storage, for the model and for people. Each of the three samples uses one random number per
 * session.
 */
export function drawFrom({ sessions }: World, { model, people }: Budget, random: RandomNumbers): Draw {
  const kept: { readonly session: number; readonly query: Query }[] = [];
  for (const [session, queries] of sessions.entries()) {
    const number = random.uniform();
    for (const query of queries) if (number < query.kept) kept.push({ session, query });
  }
  const size = ({ kept: chance, isSuspect }: Query): number => (isSuspect ? 2 : 1) / chance;
  const scale = model / kept.reduce((sum, { query }) => sum + size(query), 0);
  const share = people / model;
  const drawn: { session: number; query: Query; probability: number; needsHuman: boolean }[] = [];
  let [last, modelDraw, humanDraw] = [-1, 0, 0];
  for (const { session, query } of kept) {
    if (session !== last) [last, modelDraw, humanDraw] = [session, random.uniform(), random.uniform()];
    const probability = Math.min(1, scale * size(query));
    if (modelDraw >= probability) continue;
    drawn.push({ session, query, probability: query.kept * probability, needsHuman: humanDraw < share });
  }
  return {
    scores: (measure) =>
      drawn.map(({ session, query, probability, needsHuman }) => ({
        cluster: session,
        modelProbability: probability,
        humanProbability: probability * share,
        model: query.model[measure],
        people: needsHuman ? query.people[measure] : null,
      })),
    pairs: () =>
      drawn.flatMap(({ session, query, probability, needsHuman }) =>
        needsHuman
          ? query.grades.map(([first, second]) => ({ cluster: session, weight: 1 / probability, first, second }))
          : [],
      ),
  };
}
