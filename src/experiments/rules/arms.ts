/**
 * Sums the sessions of each arm by day, tests whether the split is as declared, and compares each arm with the first.
 */
import { logShareEvidence } from '../../math/stats/sequential.ts';
import { type SessionSums, type SessionTerm, sumSessions } from '../../math/stats/session-sums.ts';
import { differenceOf, ratiosOver, type SummedDay, statusOverDays } from './summed-days.ts';
import { FALSE_CALLS, levelOf, verdictOnArm } from './verdict.ts';

/** Measures used to compare arms: shares or scores in [0, 1], higher is better. */
export const armMeasures = ['positive_feedback', 'clicked_queries', 'ndcg'] as const;

export type ArmMeasure = (typeof armMeasures)[number];

interface ArmQuery {
  /** Random number that identifies the query's session. */
  readonly cluster: number;
  /** Value of the tag that identifies the arm. */
  readonly arm: string;
  /** Inclusion probability of the query. */
  readonly probability: number;
}

export interface UsedQuery extends ArmQuery {
  /** If the session's random number is below this value, the query is sampled regardless of its arm. */
  readonly leastProbability: number;
  readonly isClicked: boolean;
  /** Number of positive feedback items, excluding clicks. */
  readonly positive: number;
  readonly negative: number;
}

/**
 * A judged live query. Here, `probability` is the probability that the query is both sampled and selected for judging.
 */
export interface GradedQuery extends ArmQuery {
  readonly score: number;
}

const sumsOf = (arm: string, measure: ArmMeasure): string => `${arm} ${measure}`;
/**
 * Key for the number of randomly sampled sessions in an arm. The expected split of these sessions over the arms is
 * known.
 */
export const sessionsOf = (arm: string): string => `sessions ${arm}`;

interface Session {
  readonly arm: string;
  isMixed: boolean;
  readonly isByChance: boolean;
  readonly terms: (SessionTerm & { readonly measure: ArmMeasure })[];
}

/**
 * Sums one day. A session counts once, in the arm that served it. Sessions that several arms served (`mixed`), and
 * sessions whose tag value is not an arm (`unnamed`), count in no arm. Queries are weighted by their inverse
 * probabilities.
 *
 * @param queries ordered by the time at which they occurred
 */
export function sumArms(
  day: string,
  arms: readonly string[],
  queries: readonly UsedQuery[],
  grades: readonly GradedQuery[],
): SummedDay {
  const sessions = new Map<number, Session>();
  const termsOf = ({ cluster, arm }: ArmQuery, leastProbability: number): Session['terms'] => {
    const session = sessions.get(cluster) ?? { arm, isMixed: false, isByChance: cluster < leastProbability, terms: [] };
    sessions.set(cluster, session);
    if (session.arm !== arm) session.isMixed = true;
    return session.terms;
  };
  for (const query of queries) {
    const { cluster, isClicked, positive, negative } = query;
    const terms = termsOf(query, query.leastProbability);
    const weight = 1 / query.probability;
    terms.push({ measure: 'clicked_queries', cluster, x: isClicked ? weight : 0, y: weight });
    const opinions = positive + negative;
    if (opinions > 0) terms.push({ measure: 'positive_feedback', cluster, x: weight * positive, y: weight * opinions });
  }
  for (const query of grades) {
    const { cluster, score, probability } = query;
    termsOf(query, 0).push({ measure: 'ndcg', cluster, x: score / probability, y: 1 / probability });
  }
  const known = [...sessions.values()].filter(({ isMixed }) => !isMixed);
  const counts: Record<string, number> = {
    mixed: sessions.size - known.length,
    unnamed: known.filter(({ arm }) => !arms.includes(arm)).length,
  };
  const sums: Record<string, SessionSums> = {};
  for (const name of arms) {
    const own = known.filter(({ arm }) => arm === name);
    counts[sessionsOf(name)] = own.filter(({ isByChance }) => isByChance).length;
    for (const measure of armMeasures) {
      const terms = own.flatMap((session) => session.terms.filter((term) => term.measure === measure));
      if (terms.length > 0) sums[sumsOf(name, measure)] = sumSessions(terms);
    }
  }
  return { day, counts, sums };
}

export interface ArmsDesign {
  /** The first arm is the baseline. */
  readonly arms: readonly { readonly name: string; readonly share: number }[];
  readonly measures: readonly ArmMeasure[];
  /** Smallest relevant difference. */
  readonly difference: number;
}

export const splitVerdicts = ['as_declared', 'mismatch', 'no_data'] as const;

type SplitVerdict = (typeof splitVerdicts)[number];

/**
 * Concentration of the prior for the shares. With this value, the prior for a share of 1/2 has a standard deviation of
 * about 0.016.
 */
const CONCENTRATION = 1000;

/**
 * Tests the split, and compares each arm with the first. If the split is not as declared, compares no arms: some arms
 * lack sessions, and the missing sessions may be those with bad results.
 *
 * @param days in order
 */
export function compareArms(days: readonly SummedDay[], { arms, measures, difference }: ArmsDesign) {
  const split = splitOf(days, arms);
  const [first, ...others] = arms;
  if (first === undefined || split.verdict === 'mismatch') return { split, arms: [] };
  const test = { alpha: levelOf(others.length * measures.length), scale: difference, minEffect: 0, margin: difference };
  const compared = others.map(({ name }) => {
    const comparisons = measures.map((measure) => {
      const [before, beside] = [first.name, name].map((arm) => ratiosOver(days, sumsOf(arm, measure)));
      const estimates = days.map(({ day }, at) => ({
        day,
        estimate: differenceOf(beside?.[at] ?? null, before?.[at] ?? null),
      }));
      return {
        measure,
        baseline: before?.at(-1) ?? null,
        candidate: beside?.at(-1) ?? null,
        ...statusOverDays(estimates, test),
      };
    });
    return { name, verdict: verdictOnArm(comparisons.map(({ verdict }) => verdict)), comparisons };
  });
  return { split, arms: compared };
}

function splitOf(days: readonly SummedDay[], arms: ArmsDesign['arms']) {
  const total = arms.reduce((sum, { share }) => sum + share, 0);
  const shares = arms.map(({ share }) => share / total);
  const sessions = arms.map(() => 0);
  let calledOn: string | null = null;
  for (const { day, counts } of days) {
    for (const [place, { name }] of arms.entries())
      sessions[place] = (sessions[place] ?? 0) + (counts[sessionsOf(name)] ?? 0);
    if (logShareEvidence(sessions, shares, CONCENTRATION) >= -Math.log(FALSE_CALLS)) calledOn ??= day;
  }
  const all = sessions.reduce((sum, count) => sum + count, 0);
  const verdict: SplitVerdict = calledOn !== null ? 'mismatch' : all === 0 ? 'no_data' : 'as_declared';
  return {
    verdict,
    /** First day by whose end the sessions counted so far showed a mismatch; null if there is none. */
    calledOn,
    arms: arms.map(({ name }, place) => ({
      name,
      sessions: sessions[place] ?? 0,
      share: all === 0 ? null : (sessions[place] ?? 0) / all,
      declared: shares[place] ?? 0,
    })),
  };
}
