/** A fault: what it makes of a healthy pipeline, in sizes that are drawn anew for each world. */

import type { Cause } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { OwnWork } from '../../src/incidents/diagnosis/rules/observations.ts';
import type { DeploymentKind } from '../../src/live/deployments/rules/deployment.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Chunk, Question } from './corpus.ts';
import type { TrafficShape } from './traffic.ts';

/** A question that is asked of the broken pipeline. */
export interface Call {
  readonly query: Question;
  /** Where in the run it is asked, 0 first to 1 last. */
  readonly place: number;
  /** How many bad runs there were before this one. */
  readonly run: number;
  readonly random: RandomNumbers;
}

/** What a fault makes of a healthy pipeline; what is left out stays as it is. */
export interface Broken {
  /** What the store holds and the search searches. */
  readonly chunks?: readonly Chunk[];
  /** What both held until now, where that is not what they held in runs long before. */
  readonly chunksUntilNow?: readonly Chunk[];
  /** What the search searches, where the store still holds all. */
  readonly searched?: (call: Call) => readonly Chunk[];
  readonly embed?: (vector: Float32Array) => Float32Array;
  /** Of the index: share of its chunks that a search looks at. */
  readonly quality?: number;
  /** The query whose list a cache returns in place of its own; the query itself where it is asked for. */
  readonly answersOf?: (call: Call) => Question;
  /** Share of the text of each chunk that is stored. */
  readonly textShare?: number;
  readonly results?: (ids: readonly string[], call: Call) => readonly string[];
  /** An error code, or `timeout`. */
  readonly failure?: (call: Call) => string | null;
  readonly latency?: (ms: number, call: Call) => number;
  /** Of live queries alone, which are asked otherwise than golden ones. */
  readonly liveFailed?: number;
  readonly liveEmpty?: number;
  /** Share of the results of a live answer that are left. */
  readonly liveResults?: number;
  /** Points by which fewer opinions are positive. */
  readonly lessPositive?: number;
  /** Share of live traffic that one query makes up. */
  readonly topQuery?: number;
  /** Share of live traffic that is in another language than before. */
  readonly otherLanguage?: number;
  readonly annotated?: DeploymentKind;
  /** A probe sees that a setting of the index changed. */
  readonly isDetected?: boolean;
  /** Share of live traffic that asks about topics that the store never held. */
  readonly newTopic?: number;
  /** The golden set has a new version. */
  readonly golden?: (queries: readonly Question[]) => readonly Question[];
  /** The golden set had these labels from its first run on. */
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
  /** `unknown` where nothing on the list of causes went wrong. */
  readonly cause: Cause;
  /** Null where it cannot go wrong with such a pipeline: then another one is drawn. */
  breakIt(healthy: Healthy, random: RandomNumbers): Broken | null;
}

export const TIMEOUT_MS = 2000;

export const between = (random: RandomNumbers, low: number, high: number): number =>
  low + (high - low) * random.uniform();
export const isIn = (random: RandomNumbers, share: number): boolean => random.uniform() < share;
export const among = <Value>(random: RandomNumbers, values: readonly Value[]): Value =>
  values[random.below(values.length)] as Value;

/** That share of the chunks, by chance. */
export function some(chunks: readonly Chunk[], share: number, random: RandomNumbers): ReadonlySet<string> {
  return new Set(chunks.filter(() => isIn(random, share)).map(({ id }) => id));
}
