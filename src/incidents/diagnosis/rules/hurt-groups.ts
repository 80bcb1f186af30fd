/**
 * Finds the group of golden queries whose scores dropped most: a segment of the golden set, or a kind of query text.
 */

import type { GoldenQuery } from '../../../core/model.ts';
import { queryKinds } from '../../../core/text/query-kinds.ts';
import { groupBySegment } from '../../../golden/rules/golden-set.ts';
import type { RunSettings } from '../../../golden/rules/run.ts';
import { binomialUpperTail, hypergeometricUpperTail } from '../../../math/stats/distributions.ts';

export type HurtGroup = NonNullable<ReturnType<typeof worstGroup>>;

export function contrastOf({ inside, outside }: Readonly<Record<'inside' | 'outside', number>>): number {
  return inside - outside;
}

interface QueryLoss {
  readonly query: GoldenQuery;
  readonly loss: number;
}

const MIN_IN_GROUP = 5;
/** Minimum loss of an affected query; a smaller loss may be normal variation. */
const HURT = 0.05;

/** Returns null if no segment has enough queries both inside and outside it. */
export function hurtSegment(losses: readonly QueryLoss[], { segmentKeys, maxSegments }: RunSettings) {
  const queries = losses.map(({ query }) => query);
  const { segments } = groupBySegment(queries, segmentKeys, maxSegments);
  return worstGroup(
    losses,
    segments.map(({ name, members }) => ({ name: `of ${name}`, members })),
  );
}

export type HurtSegments = NonNullable<ReturnType<typeof hurtSegments>>;

/** Minimum share of affected queries in a lost segment. */
const LOST_SEGMENT = 0.7;
/** Maximum share of affected queries in an intact segment. */
const WHOLE_SEGMENT = 0.1;
const MIN_SEGMENTS = 4;
/** Minimum number of queries in a segment; smaller segments may be lost or intact by chance. */
const MIN_IN_SEGMENT = 2;
/**
 * Maximum probability with which a random distribution of the affected queries would cause a reported division into
 * lost and intact segments.
 */
const SPLIT_BY_CHANCE = 0.01;

/**
 * Returns the lost segments of one key, in which nearly all queries are affected, and the number of intact segments, in
 * which almost no queries are affected. Returns null unless the key clearly has at least two lost and two intact
 * segments.
 */
export function hurtSegments(losses: readonly QueryLoss[], segmentKeys: readonly string[]) {
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

/**
 * Returns the probability that a segment of n queries is lost or intact by chance, if each query is affected with
 * probability p.
 */
function chanceOfClear(n: number, p: number): number {
  const atLeast = binomialUpperTail(Math.ceil(LOST_SEGMENT * n), n, p);
  const atMost = 1 - binomialUpperTail(Math.floor(WHOLE_SEGMENT * n) + 1, n, p);
  return Math.min(1, atLeast + atMost);
}

/** Returns null if no kind has enough queries both inside and outside it. */
export function hurtKind(losses: readonly QueryLoss[]) {
  return worstGroup(losses, queryKinds(losses.map(({ query }) => query.text)));
}

/**
 * Returns the group whose loss is least likely to be due to chance. Among equally likely groups, returns the group
 * whose mean loss exceeds the mean loss of the other queries by the most.
 *
 * @param all groups; each name must fit after "a query" in a sentence: `of tenant=acme`, `in German`
 */
function worstGroup(
  losses: readonly QueryLoss[],
  all: readonly { readonly name: string; readonly members: readonly number[] }[],
) {
  const groups = all.filter(
    ({ members }) => members.length >= MIN_IN_GROUP && losses.length - members.length >= MIN_IN_GROUP,
  );
  const lossOf = (row: number): number => losses[row]?.loss ?? 0;
  const total = losses.reduce((lost, { loss }) => lost + loss, 0);
  const marked = losses.filter(({ loss }) => loss >= HURT).length;
  const found = groups.map(({ name, members }) => {
    const lost = members.reduce((sum, row) => sum + lossOf(row), 0);
    const hurt = members.filter((row) => lossOf(row) >= HURT).length;
    const chance = hypergeometricUpperTail(hurt, { size: losses.length, marked, draws: members.length });
    return {
      name,
      n: members.length,
      /** Mean loss per query inside the group. */
      inside: lost / members.length,
      /** Mean loss per query outside the group. */
      outside: (total - lost) / (losses.length - members.length),
      /** Number of groups that were compared. */
      searched: groups.length,
      /**
       * Probability that chance puts at least this many affected queries into the group (hypergeometric, with
       * Bonferroni correction).
       */
      chance: Math.min(1, chance * groups.length),
    };
  });
  return found.toSorted((a, b) => a.chance - b.chance || contrastOf(b) - contrastOf(a))[0] ?? null;
}
