/**
 * Scenarios for the confidence interval of the pool gap (`poolGap`): the amount by which judged nDCG is too high. Whole
 * sessions are sampled; sessions with poor results are sampled more often than others. Most sessions have no gap.
 */
import { type PooledQuery, poolGap } from '../../src/judging/rules/judged-measures.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Cell } from './cell.ts';

/**
 * Distribution of the pool gap of a query in one kind of session: 0 with probability `none`, otherwise uniform up to
 * `most`.
 */
interface Gaps {
  readonly none: number;
  readonly most: number;
}

interface Traffic {
  readonly world: string;
  readonly usual: Gaps;
  /** Gaps in suspect sessions. One session in five is suspect, and suspect sessions are sampled twice as often. */
  readonly suspect: Gaps;
}

const SUSPECT = 0.2;
const TIMES_AS_OFTEN = 2;
/** Share of failed queries, which have no gap. */
const FAILING = 0.1;
/** Probability that a query has the same gap as the previous query in its session. */
const SAME = 0.5;
const CHANCE = 0.001;
/**
 * Mean numbers of sampled sessions whose pools are searched. Each kind of traffic is simulated with each of these
 * means.
 */
const SIZES = [10, 30, 70, 300];

const traffics: readonly Traffic[] = [
  { world: 'gaps for few queries', usual: { none: 0.8, most: 0.5 }, suspect: { none: 0.4, most: 1 } },
  { world: 'hardly any gaps', usual: { none: 0.95, most: 0.5 }, suspect: { none: 0.8, most: 1 } },
  { world: 'small gaps for all queries', usual: { none: 0, most: 0.3 }, suspect: { none: 0, most: 0.6 } },
];

const meanOf = ({ none, most }: Gaps): number => ((1 - none) * most) / 2;

function draw({ usual, suspect }: Traffic, size: number, { uniform, poisson }: RandomNumbers): PooledQuery[] {
  const queries: PooledQuery[] = [];
  const isOften = (SUSPECT * TIMES_AS_OFTEN) / (SUSPECT * TIMES_AS_OFTEN + 1 - SUSPECT);
  for (let cluster = poisson(size); cluster > 0; cluster--) {
    const isSuspect = uniform() < isOften;
    const { none, most } = isSuspect ? suspect : usual;
    const probability = CHANCE * (isSuspect ? TIMES_AS_OFTEN : 1);
    let gap: number | null = null;
    for (let query = 1 + poisson(0.5); query > 0; query--) {
      if (gap === null || uniform() >= SAME) gap = uniform() < none ? 0 : most * uniform();
      queries.push({ cluster, outcome: 'ok', probability, gap });
    }
  }
  for (let cluster = poisson(size); cluster > 0; cluster--)
    queries.push({ cluster: -cluster, outcome: 'error', probability: 1, gap: 0 });
  return queries;
}

export const poolWorlds: readonly Cell[] = traffics.flatMap((traffic) =>
  SIZES.map((size) => ({
    bound: 'pool gap of judged nDCG (jackknife)',
    world: `${traffic.world}, ${size} sessions`,
    truth: (1 - FAILING) * ((1 - SUSPECT) * meanOf(traffic.usual) + SUSPECT * meanOf(traffic.suspect)),
    draw: (random: RandomNumbers) => poolGap(draw(traffic, size, random), { ok: 1 - FAILING, error: FAILING }),
  })),
);
