/** A day of live queries -> sums over its sessions, of which ratios and their variance are made. */
import type { VariantMeasure } from './measures.ts';

/** A live query of the comparison, with what its users made of it. */
export interface VariantQuery {
  /** Names its session. */
  readonly cluster: number;
  /** Value of the tag. */
  readonly variant: string;
  /** Inclusion probability. */
  readonly probability: number;
  /** Below it the draw of its session would have kept it in whatever arm, without a rule. */
  readonly leastProbability: number;
  readonly isClicked: boolean;
  /** Opinions, without clicks. */
  readonly positive: number;
  readonly negative: number;
}

/** A graded query: its score and the chance of being kept and drawn. */
export interface VariantGrade {
  readonly cluster: number;
  readonly variant: string;
  readonly probability: number;
  readonly score: number;
}

/**
 * Over sessions, of weighted sums x of the numerators and y of the denominators:
 * n, x, y, xx, xy, yy, xxxx, xxxy, xxyy, xyyy, yyyy. They add up over days.
 */
export type SessionSums = readonly number[];

export interface ArmDay {
  /** Sessions that chance alone kept, alike in every arm: those whose split is known. */
  readonly sessions: number;
  readonly measures: Readonly<Partial<Record<VariantMeasure, SessionSums>>>;
}

export interface VariantDay {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly arms: Readonly<Record<string, ArmDay>>;
  /** Sessions that saw more than one arm, and those with a value that is none. */
  readonly mixed: number;
  readonly unnamed: number;
}

interface Session {
  readonly variant: string;
  isMixed: boolean;
  readonly isByChance: boolean;
  readonly terms: Map<VariantMeasure, [x: number, y: number]>;
}

/**
 * A session counts once a day, in the arm that it saw; one that saw several is in none. Its queries weigh by their inverse
 * probabilities.
 *
 * @param queries in the order of their occurrence
 */
export function sumDay(
  day: string,
  arms: readonly string[],
  queries: readonly VariantQuery[],
  grades: readonly VariantGrade[],
): VariantDay {
  const sessions = new Map<number, Session>();
  for (const query of queries) {
    const session = sessionOf(sessions, query);
    const weight = 1 / query.probability;
    add(session, 'clicked_queries', query.isClicked ? weight : 0, weight);
    const opinions = query.positive + query.negative;
    if (opinions > 0) add(session, 'positive_feedback', weight * query.positive, weight * opinions);
  }
  for (const { probability, score, ...query } of grades) {
    add(sessionOf(sessions, { ...query, leastProbability: 0 }), 'relevance', score / probability, 1 / probability);
  }
  const known = [...sessions.values()].filter(({ isMixed }) => !isMixed);
  const armOf = (name: string): ArmDay => {
    const own = known.filter(({ variant }) => variant === name);
    const measures: Partial<Record<VariantMeasure, number[]>> = {};
    for (const { terms } of own) {
      for (const [measure, [x, y]] of terms) {
        const sums = (measures[measure] ??= Array.from({ length: SUMS }, () => 0));
        for (const [place, value] of powersOf(x, y).entries()) sums[place] = (sums[place] ?? 0) + value;
      }
    }
    return { sessions: own.filter(({ isByChance }) => isByChance).length, measures };
  };
  return {
    day,
    arms: Object.fromEntries(arms.map((name) => [name, armOf(name)])),
    mixed: sessions.size - known.length,
    unnamed: known.filter(({ variant }) => !arms.includes(variant)).length,
  };
}

function sessionOf(
  sessions: Map<number, Session>,
  { cluster, variant, leastProbability }: Pick<VariantQuery, 'cluster' | 'variant' | 'leastProbability'>,
): Session {
  const session = sessions.get(cluster) ?? {
    variant,
    isMixed: false,
    isByChance: cluster < leastProbability,
    terms: new Map(),
  };
  sessions.set(cluster, session);
  if (session.variant !== variant) session.isMixed = true;
  return session;
}

function add({ terms }: Session, measure: VariantMeasure, x: number, y: number): void {
  const [before, below] = terms.get(measure) ?? [0, 0];
  terms.set(measure, [before + x, below + y]);
}

const SUMS = 11;

function powersOf(x: number, y: number): readonly number[] {
  const [xx, xy, yy] = [x * x, x * y, y * y];
  return [1, x, y, xx, xy, yy, xx * xx, xx * xy, xx * yy, xy * yy, yy * yy];
}

/** @returns sums of no session for none */
export function addSums(days: readonly SessionSums[]): SessionSums {
  return Array.from({ length: SUMS }, (_, place) => days.reduce((total, sums) => total + (sums[place] ?? 0), 0));
}

export interface ArmRatio {
  readonly value: number;
  /** Of `value`; 0 where no session differs from the others. */
  readonly variance: number;
  /** Satterthwaite's of the variance: few when few sessions make it up, however many others there are. */
  readonly degreesOfFreedom: number;
  readonly sessions: number;
}

/** Of squares below this share of their parts only rounding is left. */
const ROUNDING = 1e-9;

/**
 * The ratio of the sums with its variance over sessions, as `sessionRatio` has it of single sessions; null without any.
 */
export function ratioOf(sums: SessionSums): ArmRatio | null {
  const [n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, xxxx = 0, xxxy = 0, xxyy = 0, xyyy = 0, yyyy = 0] = sums;
  if (n === 0 || y <= 0) return null;
  const value = x / y;
  const squares = xx - 2 * value * xy + value ** 2 * yy;
  const fourths = xxxx - 4 * value * xxxy + 6 * value ** 2 * xxyy - 4 * value ** 3 * xyyy + value ** 4 * yyyy;
  if (n < 2 || squares <= ROUNDING * yy || fourths <= 0)
    return { value, variance: 0, degreesOfFreedom: 0, sessions: n };
  return {
    value,
    variance: ((n / (n - 1)) * squares) / y ** 2,
    degreesOfFreedom: Math.min(n - 1, squares ** 2 / fourths),
    sessions: n,
  };
}
