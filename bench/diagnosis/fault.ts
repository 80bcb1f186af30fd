/** A fault and its effect on a healthy pipeline. The size of the effect is random in each world. */

import type { Cause } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { OwnWork } from '../../src/incidents/diagnosis/rules/observations.ts';
import type { DeploymentKind } from '../../src/live/deployments/rules/deployment.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Chunk, Question } from './corpus.ts';
import type { TrafficShape } from './traffic.ts';

/** A query sent to the broken pipeline. */
export interface Call {
  readonly query: Question;
  /** Position in the run, from 0 (first) to 1 (last). */
  readonly place: number;
  /** Number of earlier bad runs. */
  readonly run: number;
  readonly random: RandomNumbers;
}

/** Effects of a fault on a healthy pipeline; missing fields have no effect. */
export interface Broken {
  /** Chunks in the store. The search uses the same chunks unless `searched` is set. */
  readonly chunks?: readonly Chunk[];
  /**
   * Chunks that the store contained, and that the search used, in the last run before the fault; set only if earlier
   * runs had different chunks.
   */
  readonly chunksUntilNow?: readonly Chunk[];
  /** Returns the chunks that the search uses, if they differ from the chunks in the store. */
  readonly searched?: (call: Call) => readonly Chunk[];
  readonly embed?: (vector: Float32Array) => Float32Array;
  /** Share of the index's chunks that a search examines. */
  readonly quality?: number;
  /**
   * Returns the query whose cached result list answers the call; the query of the call itself if the cache is correct.
   */
  readonly answersOf?: (call: Call) => Question;
  /** Share of each chunk's text that is stored. */
  readonly textShare?: number;
  readonly results?: (ids: readonly string[], call: Call) => readonly string[];
  /** Returns an error code or `timeout` if the call fails; null if it succeeds. */
  readonly failure?: (call: Call) => string | null;
  readonly latency?: (ms: number, call: Call) => number;
  /** Share of live queries that fail; golden queries take another path and do not fail. */
  readonly liveFailed?: number;
  /** Share of live queries without results; golden queries take another path and return results. */
  readonly liveEmpty?: number;
  /** Share of each live query's results that the fault leaves in place. */
  readonly liveResults?: number;
  /** Drop in the share of positive feedback; at least 0, at most 1. */
  readonly lessPositive?: number;
  /** Share of live traffic that repeats one query. */
  readonly topQuery?: number;
  /** Share of live traffic in a new language. */
  readonly otherLanguage?: number;
  readonly annotated?: DeploymentKind;
  /** True if a probe detects that an index setting has changed. */
  readonly isDetected?: boolean;
  /** Share of live traffic about topics for which the store never contained documents. */
  readonly newTopic?: number;
  /** Returns the queries of a new version of the golden set. */
  readonly golden?: (queries: readonly Question[]) => readonly Question[];
  /** Returns the queries with the judgments that the golden set has had since its first run. */
  readonly alwaysGolden?: (queries: readonly Question[]) => readonly Question[];
  readonly ownWork?: OwnWork;
}

export interface Healthy {
  readonly chunks: readonly Chunk[];
  readonly golden: readonly Question[];
  readonly k: number;
  readonly latencyMs: number;
  readonly segments: number;
  readonly liveQueries: number;
  readonly traffic: TrafficShape;
}

export interface Fault {
  readonly name: string;
  readonly does: string;
  /** The right cause; `unknown` if recalld's list of causes does not contain it. */
  readonly cause: Cause;
  /** Null if the fault cannot occur in this pipeline; the benchmark then simulates another pipeline. */
  breakIt(healthy: Healthy, random: RandomNumbers): Broken | null;
}

export const TIMEOUT_MS = 2000;

export const between = (random: RandomNumbers, low: number, high: number): number =>
  low + (high - low) * random.uniform();
export const isIn = (random: RandomNumbers, share: number): boolean => random.uniform() < share;
export const among = <Value>(random: RandomNumbers, values: readonly Value[]): Value =>
  values[random.below(values.length)] as Value;

/** Returns the ids of a random subset of the chunks, to which each chunk belongs with probability `share`. */
export function some(chunks: readonly Chunk[], share: number, random: RandomNumbers): ReadonlySet<string> {
  return new Set(chunks.filter(() => isIn(random, share)).map(({ id }) => id));
}
