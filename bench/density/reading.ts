/** Explains a density alert as the daemon does, by its topic and its cause. */

import { type Baseline, isInTail } from '../../src/density/rules/baseline.ts';
import { type CauseReading, familiarity, novelBelow, noveltyOf, readCause } from '../../src/density/rules/cause.ts';
import { uncoveredShareOf } from '../../src/density/rules/query-density.ts';
import { tailClusters } from '../../src/density/rules/tail-clusters.ts';
import { binomialUpperTail } from '../../src/math/stats/distributions.ts';
import { type Matrix, selectRows } from '../../src/math/vector/matrix.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import type { MonitoredHour } from './monitor.ts';
import { type Scores, shuffled, type World } from './world.ts';

/** Baseline data that is used to explain an alert. */
export interface Memory {
  readonly baseline: Baseline;
  readonly world: World;
  /** Vectors of the baseline queries that are used to distinguish known from new queries. */
  readonly known: Matrix;
  /** Familiarity below which a query is new. */
  readonly novelBelow: number;
  /** Indices of the golden queries. */
  readonly golden: Int32Array;
  /** Scores of the golden queries before the change. */
  readonly goldenScores: Float64Array;
}

export interface Reading extends CauseReading {
  /**
   * Share of queries that ask for missing content, among the queries in the largest cluster; null if there is no
   * cluster.
   */
  readonly purity: number | null;
}

/** Number of baseline queries that the daemon stores. */
const KNOWN = 1_000;
/** Number of live queries that the daemon examines to explain an alert. */
const LIVE = 1_000;
const GOLDEN = 300;
const SIGNIFICANCE = 0.01;

/** @param asked queries of the baseline, oldest first */
export function memoryOf(
  baseline: Baseline,
  world: World,
  asked: readonly number[],
  scores: Scores,
  seed: number,
): Memory {
  const random = randomNumbers(seed);
  const draw = (count: number): Int32Array =>
    Int32Array.from({ length: count }, () => asked[random.below(asked.length)] ?? 0);
  const known = selectRows(world.vectors, draw(Math.min(KNOWN, asked.length)));
  const golden = draw(GOLDEN);
  return {
    baseline,
    world,
    known,
    novelBelow: novelBelow(known) ?? -1,
    golden,
    goldenScores: Float64Array.from(golden, (question) => scores[question] ?? 0),
  };
}

/**
 * Explains an alert as the daemon does, from the hours over which the size of the drop was measured. Golden scores
 * count as dropped if a sign test is significant at 0.01.
 *
 * @param missing topics that the store lacks
 */
export function readAlert(
  memory: Memory,
  hours: readonly MonitoredHour[],
  vectors: Matrix,
  scores: Scores,
  missing: ReadonlySet<number>,
  random: RandomNumbers,
): Reading {
  const { world, known } = memory;
  const live = oneOfEachSession(hours);
  const chosen = shuffled(live.length, random).slice(0, LIVE);
  const rows = selectRows(
    vectors,
    Array.from(chosen, (at) => live[at] ?? 0),
  );
  const sessions = hours.reduce((sum, hour) => sum + hour.sessions, 0);
  const uncovered = hours.reduce((sum, hour) => sum + hour.sessions * hour.uncovered, 0) / sessions;
  const { excess } = uncoveredShareOf(uncovered, sessions, Number.POSITIVE_INFINITY);
  const read = readCause({
    trafficChanged: noveltyOf(familiarity(rows, known), memory.novelBelow, excess).explains,
    goldenDropped: signTestP(memory, scores) < SIGNIFICANCE,
    // The simulated scenarios have scores but no chunks, so the daemon's search for missing chunks is omitted.
    chunksMissing: null,
  });
  const members = largestCluster(memory, hours, sessions);
  const hits = members.filter((question) => missing.has(world.topics[question] ?? -1)).length;
  return { ...read, purity: members.length === 0 ? null : hits / members.length };
}

function oneOfEachSession(hours: readonly MonitoredHour[]): number[] {
  return hours.flatMap(({ queries }) => [
    ...new Map(queries.map(({ sessionNumber, question }) => [sessionNumber, question])).values(),
  ]);
}

/**
 * Returns the queries of the uncovered topic whose share of traffic exceeds its baseline share by the largest margin.
 */
function largestCluster({ baseline, world }: Memory, hours: readonly MonitoredHour[], sessions: number): number[] {
  const tail = hours.flatMap(({ queries }, hour) =>
    queries
      .filter(({ ranks, region }) => isInTail(ranks) && region >= 0)
      .map((query) => ({
        id: query.id,
        row: query.question,
        session: `${hour}/${query.sessionNumber}`,
        surprise: query.surprise,
        region: query.region,
      })),
  );
  const clusters = tailClusters(
    { vectors: world.vectors, tail, sessions },
    { vectors: world.vectors, tail: baseline.tail, sessions: baseline.global.sessions },
    1,
  );
  const largest = clusters.kind === 'clusters' ? clusters.uncovered[0] : undefined;
  const questions = new Map(tail.map(({ id, row }) => [id, row]));
  return largest === undefined ? [] : largest.members.map((id) => questions.get(id) ?? 0);
}

/**
 * Returns the p-value of a one-sided sign test of the golden scores: P(Bin(changed, 1/2) >= dropped) if nothing
 * changed.
 */
function signTestP({ golden, goldenScores }: Memory, scores: Scores): number {
  const changes = Array.from(golden, (question, i) => (scores[question] ?? 0) - (goldenScores[i] ?? 0));
  const dropped = changes.filter((change) => change < 0).length;
  return binomialUpperTail(dropped, changes.filter((change) => change !== 0).length, 0.5);
}
