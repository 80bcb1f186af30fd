/**
 * Days of live queries -> sums over sessions, of which ratios and their variance are made -> whether the split is what
 * was declared, and then what is better or worse.
 */
import type { Interval } from '../../math/stats/intervals.ts';
import { logShareEvidence, normalMixtureInterval } from '../../math/stats/sequential.ts';
import {
  addSums,
  ratioOf,
  type SessionSums,
  type SessionTerm,
  type SummedRatio,
  sumSessions,
} from '../../math/stats/session-sums.ts';

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

interface ArmDay {
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
  readonly terms: (SessionTerm & { readonly measure: VariantMeasure })[];
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
    const { terms } = sessionOf(sessions, query);
    const { cluster } = query;
    const weight = 1 / query.probability;
    terms.push({ measure: 'clicked_queries', cluster, x: query.isClicked ? weight : 0, y: weight });
    const opinions = query.positive + query.negative;
    if (opinions > 0)
      terms.push({ measure: 'positive_feedback', cluster, x: weight * query.positive, y: weight * opinions });
  }
  for (const { probability, score, ...query } of grades) {
    const { terms } = sessionOf(sessions, { ...query, leastProbability: 0 });
    terms.push({ measure: 'relevance', cluster: query.cluster, x: score / probability, y: 1 / probability });
  }
  const known = [...sessions.values()].filter(({ isMixed }) => !isMixed);
  const armOf = (name: string): ArmDay => {
    const own = known.filter(({ variant }) => variant === name);
    const measures: Partial<Record<VariantMeasure, SessionSums>> = {};
    for (const measure of variantMeasures) {
      const terms = own.flatMap((session) => session.terms.filter((term) => term.measure === measure));
      if (terms.length > 0) measures[measure] = sumSessions(terms);
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
    terms: [],
  };
  sessions.set(cluster, session);
  if (session.variant !== variant) session.isMixed = true;
  return session;
}

/** What variants are compared by; all of them are shares or scores in [0, 1], and more is better. */
export const variantMeasures = ['positive_feedback', 'clicked_queries', 'relevance'] as const;

export type VariantMeasure = (typeof variantMeasures)[number];

export interface VariantDesign {
  /** The others are held against the first. */
  readonly arms: readonly { readonly name: string; readonly share: number }[];
  readonly measures: readonly VariantMeasure[];
  /** Difference that matters. */
  readonly difference: number;
}

/**
 * `alike`: no difference that matters is left possible. `undecided`: neither that nor a difference is shown. `no_data`: too
 * few sessions differ to tell. `withheld`: the split is not what was declared.
 */
export const variantVerdicts = ['worse', 'better', 'alike', 'undecided', 'no_data', 'withheld'] as const;

export type VariantVerdict = (typeof variantVerdicts)[number];

/** An arm beside the first, by one measure. */
export interface ArmComparison {
  readonly measure: VariantMeasure;
  readonly verdict: VariantVerdict;
  readonly control: SummedRatio | null;
  readonly arm: SummedRatio | null;
  /** Of the arm less the first, with bounds that hold whenever somebody looks; null where too little is known. */
  readonly difference: ({ readonly value: number } & Interval) | null;
  /** Day after which it was called; null while it is not. */
  readonly calledOn: string | null;
}

export interface ComparedArm {
  readonly name: string;
  readonly verdict: VariantVerdict;
  readonly comparisons: readonly ArmComparison[];
}

export const splitVerdicts = ['as_declared', 'mismatch', 'no_data'] as const;

export interface Split {
  readonly verdict: (typeof splitVerdicts)[number];
  /** Day after which the mismatch was called. */
  readonly calledOn: string | null;
  readonly arms: readonly {
    readonly name: string;
    readonly sessions: number;
    readonly share: number | null;
    readonly declared: number;
  }[];
}

export interface VariantComparison {
  readonly split: Split;
  readonly arms: readonly ComparedArm[];
}

/** Chance that arms that are alike are ever called worse or better, over all measures and arms; and that of the split. */
export const FALSE_CALLS = 0.01;
/** Of each arm, below which its variance is not known well enough. */
const MIN_FREEDOM = 30;
/** Prior of shares that differ: those of two equal arms would be about 0.016 off. */
const CONCENTRATION = 1000;

/** Level of each of the comparisons. */
export function levelOf({ arms, measures }: Pick<VariantDesign, 'arms' | 'measures'>): number {
  return FALSE_CALLS / Math.max(1, (arms.length - 1) * measures.length);
}

/**
 * What days came to, looked at after each of them: what was called once stays so. With the split off, whatever lost the
 * missing sessions may have lost those with bad answers, so that nothing else is said.
 *
 * @param days rising
 */
export function compareArms(days: readonly VariantDay[], design: VariantDesign): VariantComparison {
  const split = judgeSplit(days, design);
  const control = design.arms[0]?.name ?? '';
  const alpha = levelOf(design);
  const arms = design.arms.slice(1).map(({ name }): ComparedArm => {
    const comparisons = design.measures.map((measure) => {
      const found = compareArm(days, { control, name, measure, alpha, matters: design.difference });
      return split.verdict === 'mismatch' ? { ...found, verdict: 'withheld' as const, calledOn: null } : found;
    });
    return { name, verdict: overall(comparisons.map(({ verdict }) => verdict)), comparisons };
  });
  return { split, arms };
}

/** Worse where any measure says so; else what the most telling says. */
function overall(verdicts: readonly VariantVerdict[]): VariantVerdict {
  const order = ['withheld', 'worse', 'better', 'undecided', 'alike'] as const;
  return order.find((verdict) => verdicts.includes(verdict)) ?? 'no_data';
}

function judgeSplit(days: readonly VariantDay[], { arms }: Pick<VariantDesign, 'arms'>): Split {
  const total = arms.reduce((sum, { share }) => sum + share, 0);
  const shares = arms.map(({ share }) => share / total);
  const counts = arms.map(() => 0);
  let calledOn: string | null = null;
  for (const { day, arms: found } of days) {
    for (const [place, { name }] of arms.entries()) counts[place] = (counts[place] ?? 0) + (found[name]?.sessions ?? 0);
    if (logShareEvidence(counts, shares, CONCENTRATION) >= -Math.log(FALSE_CALLS)) calledOn ??= day;
  }
  const sessions = counts.reduce((sum, count) => sum + count, 0);
  return {
    verdict: calledOn !== null ? 'mismatch' : sessions === 0 ? 'no_data' : 'as_declared',
    calledOn,
    arms: arms.map(({ name }, place) => ({
      name,
      sessions: counts[place] ?? 0,
      share: sessions === 0 ? null : (counts[place] ?? 0) / sessions,
      declared: shares[place] ?? 0,
    })),
  };
}

interface Pair {
  readonly control: string;
  readonly name: string;
  readonly measure: VariantMeasure;
  readonly alpha: number;
  readonly matters: number;
}

function compareArm(days: readonly VariantDay[], { control, name, measure, alpha, matters }: Pair): ArmComparison {
  let sums: readonly [SessionSums, SessionSums] = [addSums([]), addSums([])];
  let difference: ArmComparison['difference'] = null;
  let called: { readonly verdict: 'worse' | 'better'; readonly day: string } | null = null;
  for (const { day, arms } of days) {
    const [before, beside] = [arms[control]?.measures[measure], arms[name]?.measures[measure]];
    sums = [addSums([sums[0], before ?? []]), addSums([sums[1], beside ?? []])];
    difference = differenceOf(ratioOf(sums[0]), ratioOf(sums[1]), matters, alpha);
    if (difference === null) continue;
    if (difference.high < 0) called ??= { verdict: 'worse', day };
    if (difference.low > 0) called ??= { verdict: 'better', day };
  }
  const isAlike = difference !== null && difference.low >= -matters && difference.high <= matters;
  const open = difference === null ? 'no_data' : isAlike ? 'alike' : 'undecided';
  return {
    measure,
    verdict: called?.verdict ?? open,
    control: ratioOf(sums[0]),
    arm: ratioOf(sums[1]),
    difference,
    calledOn: called?.day ?? null,
  };
}

/** Null while either side tells too little of its spread. */
function differenceOf(
  control: SummedRatio | null,
  arm: SummedRatio | null,
  scale: number,
  alpha: number,
): ArmComparison['difference'] {
  if (control === null || arm === null) return null;
  if (Math.min(control.degreesOfFreedom, arm.degreesOfFreedom) < MIN_FREEDOM) return null;
  const value = arm.value - control.value;
  return { value, ...normalMixtureInterval(value, control.variance + arm.variance, scale, alpha) };
}
