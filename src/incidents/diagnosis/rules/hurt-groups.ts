/** The group of golden queries that lost most: a segment by the tags of the set, or a kind by the texts of its queries. */

import type { GoldenQuery } from '../../../core/model.ts';
import { queryKinds } from '../../../core/text/query-kinds.ts';
import { groupBySegment } from '../../../golden/rules/golden-set.ts';
import type { RunSettings } from '../../../golden/rules/run.ts';
import { binomialUpperTail, hypergeometricUpperTail } from '../../../math/stats/distributions.ts';

/** The group that lost most beside the others. */
export interface HurtGroup {
  /** Goes on behind "a query": `of tenant=acme`, `in German`. */
  readonly name: string;
  readonly n: number;
  /** Mean loss of a query in it, and outside of it. */
  readonly inside: number;
  readonly outside: number;
  /** Groups that it was chosen from. */
  readonly searched: number;
  /**
   * Probability that as many of the hurt queries fall into it by chance (hypergeometric), times `searched` (Bonferroni); at
   * most 1.
   */
  readonly chance: number;
}

interface QueryLoss {
  readonly query: GoldenQuery;
  readonly loss: number;
}

const MIN_IN_GROUP = 5;
/** A query that lost less may have lost it as its answers waver. */
const HURT = 0.05;

/** Null without two segments of some size. */
export function hurtSegment(
  losses: readonly QueryLoss[],
  { segmentKeys, maxSegments }: Pick<RunSettings, 'segmentKeys' | 'maxSegments'>,
): HurtGroup | null {
  const { segments } = groupBySegment(
    losses.map(({ query }) => query),
    segmentKeys,
    maxSegments,
  );
  return worstGroup(
    losses,
    segments.map(({ name, members }) => ({ name: `of ${name}`, members })),
  );
}

/** Segments of one key of which some lost nearly all their queries, and the others nearly none. */
export interface HurtSegments {
  readonly names: readonly string[];
  readonly others: number;
}

/** A segment with at least this share of hurt queries is lost, one with at most the other is not. */
const LOST_SEGMENT = 0.7;
const WHOLE_SEGMENT = 0.1;
const MIN_SEGMENTS = 4;
/** Segments of fewer queries are whole or lost by chance. */
const MIN_IN_SEGMENT = 2;
/** Chance of so clear a split, were the hurt queries spread over all, from which on it is none. */
const SPLIT_BY_CHANCE = 0.01;

/** Null unless at least two segments are lost and two are not. */
export function hurtSegments(losses: readonly QueryLoss[], segmentKeys: readonly string[]): HurtSegments | null {
  for (const key of segmentKeys) {
    const counted = new Map<string, { n: number; hurt: number }>();
    for (const { query, loss } of losses) {
      const value = query.tags[key];
      if (value === undefined) continue;
      const { n, hurt } = counted.get(value) ?? { n: 0, hurt: 0 };
      counted.set(value, { n: n + 1, hurt: hurt + Number(loss >= HURT) });
    }
    const segments = [...counted].filter(([, { n }]) => n >= MIN_IN_SEGMENT);
    const n = segments.reduce((sum, [, one]) => sum + one.n, 0);
    const share = segments.reduce((sum, [, one]) => sum + one.hurt, 0) / Math.max(1, n);
    const lost = segments.filter(([, one]) => one.hurt >= LOST_SEGMENT * one.n);
    const whole = segments.filter(([, one]) => one.hurt <= WHOLE_SEGMENT * one.n);
    if (segments.length < MIN_SEGMENTS || lost.length < 2 || whole.length < 2) continue;
    if (lost.length + whole.length < segments.length) continue;
    const chance = segments.reduce((product, [, one]) => product * chanceOfClear(one.n, share), 1);
    if (chance <= SPLIT_BY_CHANCE)
      return { names: lost.map(([value]) => `${key}=${value}`).toSorted(), others: whole.length };
  }
  return null;
}

/** Probability that of n queries that are hurt with probability p, nearly all are or nearly none. */
function chanceOfClear(n: number, p: number): number {
  const atLeast = binomialUpperTail(Math.ceil(LOST_SEGMENT * n), n, p);
  const atMost = 1 - binomialUpperTail(Math.floor(WHOLE_SEGMENT * n) + 1, n, p);
  return Math.min(1, atLeast + atMost);
}

/** Null where no kind has some queries inside and outside of it. */
export function hurtKind(losses: readonly QueryLoss[]): HurtGroup | null {
  return worstGroup(losses, queryKinds(losses.map(({ query }) => query.text)));
}

function worstGroup(
  losses: readonly QueryLoss[],
  all: readonly { readonly name: string; readonly members: readonly number[] }[],
): HurtGroup | null {
  const groups = all.filter(
    ({ members }) => members.length >= MIN_IN_GROUP && losses.length - members.length >= MIN_IN_GROUP,
  );
  const lossOf = (row: number): number => losses[row]?.loss ?? 0;
  const total = losses.reduce((lost, { loss }) => lost + loss, 0);
  const marked = losses.filter(({ loss }) => loss >= HURT).length;
  const found = groups.map(({ name, members }): HurtGroup => {
    const lost = members.reduce((sum, row) => sum + lossOf(row), 0);
    const hurt = members.filter((row) => lossOf(row) >= HURT).length;
    const chance = hypergeometricUpperTail(hurt, { size: losses.length, marked, draws: members.length });
    return {
      name,
      n: members.length,
      inside: lost / members.length,
      outside: (total - lost) / (losses.length - members.length),
      searched: groups.length,
      chance: Math.min(1, chance * groups.length),
    };
  });
  return found.toSorted((a, b) => b.inside - b.outside - (a.inside - a.outside))[0] ?? null;
}
