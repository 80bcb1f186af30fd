/** A day of live queries -> sums over its sessions, of which ratios and their variance are made. */
import { type SessionSums, type SessionTerm, sumSessions } from '../../stats/session-sums.ts';

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
