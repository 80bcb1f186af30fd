/**
 * Computes, with the daemon's code, the density of live queries, and how similar poorly covered queries are to earlier
 * queries.
 */
import { readCause, topicCause } from '../../src/density/rules/cause.ts';
import {
  densityInterval,
  densityOf,
  SURPRISE_VARIANCE,
  uncoveredShareOf,
} from '../../src/density/rules/query-density.ts';
import {
  baselineScores,
  coverageScore,
  NO_REGION,
  surpriseOf,
  type TiedRanks,
  tailShare,
  tiedRanks,
} from '../../src/density/rules/query-score.ts';
import type { ObservedDensity, ObservedTopic } from '../../src/incidents/diagnosis/rules/observations.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { matrixOf, meanDirection } from '../../src/math/vector/matrix.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import { type Chunk, dot, type Question, search, unit } from './corpus.ts';
import type { Broken } from './fault.ts';

interface Traffic {
  readonly baseline: readonly Question[];
  readonly live: readonly Question[];
}

/** Number of baseline queries from which the usual result of `familiarity` is computed. */
const FAMILIAR = 80;
const NEIGHBOURS = 10;
/**
 * Density below which a drop is reported. Only one window is evaluated; the daemon accumulates evidence over several
 * windows before it alerts.
 */
const FELL_BELOW = 0.9;
const TAIL = 0.05;

export function observeCoverage(
  { baseline, live }: Traffic,
  before: readonly Chunk[],
  held: readonly Chunk[],
  { newTopic = 0 }: Broken,
  canary: 'same' | 'noisy' | 'changed',
  random: RandomNumbers,
): { readonly density: ObservedDensity | null; readonly topics: readonly ObservedTopic[] | null } {
  // Density monitoring is suspended after a change of the embedding model.
  if (canary === 'changed') return { density: null, topics: null };
  const asked = baseline.map(({ vector }) => vector);
  const asking = live.map(({ vector }) => (random.uniform() < newTopic ? foreign(vector, random) : vector));
  const storeMean = meanDirection(matrixOf(before.map(({ vector }) => vector)));
  const scores = asked.map((vector) => scoreOf(before, vector, storeMean));
  const against = baselineScores(
    scores,
    scores.map(() => NO_REGION),
    0,
  );
  const ranks = asking.map((vector) => tiedRanks(scoreOf(held, vector, storeMean), NO_REGION, against));
  const value = densityOf(mean(ranks.map(surpriseOf)));
  const { low: ciLow, high: ciHigh } = densityInterval(value, SURPRISE_VARIANCE, asking.length, asked.length);
  const hasFallen = ciHigh < FELL_BELOW;
  const tail = asking.filter((_, index) => tailShare(ranks[index] as TiedRanks, TAIL) >= 0.5);
  const usual = asked
    .slice(0, FAMILIAR)
    .map((vector) =>
      familiarity(
        vector,
        asked.filter((other) => other !== vector),
      ),
    )
    .toSorted((a, b) => a - b);
  const novelBelow = usual[Math.floor(TAIL * usual.length)] ?? 0;
  const share = uncoveredShareOf(tail.length / asking.length, asking.length, Number.POSITIVE_INFINITY);
  const familiar = tail.map((vector) => familiarity(vector, asked));
  const cause = tail.length === 0 ? null : topicCause(familiar, novelBelow);
  const reading = readCause({ trafficChanged: cause === 'new_demand', goldenDropped: null, chunksMissing: null });
  const questions = !hasFallen ? null : reading.cause === 'content_gap' ? 'new' : 'same';
  return {
    density: { value, ciLow, ciHigh, n: asking.length, hasFallen, questions, since: null },
    topics: cause === null || share.excessLow < 0.01 ? [] : [{ id: 't-1', trafficShare: share.share, cause }],
  };
}

/**
 * Returns the vector of a query about a new topic: 0.3 times the given vector plus a random unit vector, scaled to
 * length 1.
 */
function foreign(vector: Float32Array, random: RandomNumbers): Float32Array {
  const elsewhere = unit(vector.map(() => random.normal()));
  return unit(vector.map((value, axis) => 0.3 * value + (elsewhere[axis] ?? 0)));
}

function scoreOf(held: readonly Chunk[], vector: Float32Array, storeMean: Float64Array): number {
  return coverageScore(search(held, vector, 1)[0]?.similarity ?? -1, vector, storeMean);
}

/** Mean cosine between a vector and the ten nearest of the other vectors. */
function familiarity(vector: Float32Array, others: readonly Float32Array[]): number {
  const cosines = others.map((other) => dot(vector, other)).toSorted((a, b) => b - a);
  return mean(cosines.slice(0, NEIGHBOURS));
}
