/** The group of golden queries that lost most: a segment by the tags of the set, or a kind by the texts of its queries. */

import type { GoldenQuery } from '../../../core/model.ts';
import { queryKinds } from '../../../core/text/query-kinds.ts';
import { groupBySegment } from '../../../golden/rules/golden-set.ts';
import type { RunSettings } from '../../../golden/rules/run.ts';
import { hypergeometricUpperTail } from '../../../math/stats/distributions.ts';

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
