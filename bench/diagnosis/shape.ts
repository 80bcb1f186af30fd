/** Random properties of the pipeline in each world. */
import type { DeploymentKind } from '../../src/live/deployments/rules/deployment.ts';
import type { RandomNumbers } from '../random-numbers.ts';

/**
 * `training`: worlds on which the weights were set. `calibrating`: worlds on which the temperature was set. `judging`:
 * worlds that were used neither for the weights nor for the temperature.
 */
export type Worlds = 'training' | 'calibrating' | 'judging';

export interface Shape {
  readonly golden: number;
  readonly k: number;
  /** Share of the positions in a result list that differ when a query is repeated. */
  readonly waver: number;
  readonly latencyMs: number;
  readonly latencySpread: number;
  readonly index: 'lists' | 'graph';
  /** Share of the healthy index's chunks that a search examines. */
  readonly quality: number;
  /** Number of segments of the golden set; 0 if it has no tags. */
  readonly segments: number;
  readonly hasStore: boolean;
  /** Always false without a store. */
  readonly hasEmbedder: boolean;
  /** True if the retriever uses the monitored embedder. */
  readonly isEmbedderShared: boolean;
  readonly hasDensity: boolean;
  readonly liveQueries: number;
  /** Number of bad runs up to and including the run that confirmed the failure. */
  readonly badRuns: number;
  /** Number of stored good runs before the reference run. */
  readonly olderRuns: number;
  /** Kind of a harmless deployment before the alert; null if there is none. */
  readonly decoy: DeploymentKind | null;
  /** Difference between the usual nDCG and the threshold of the check, which is lower. */
  readonly slack: number;
  /** Number of candidates per returned document; null if the retriever does not report its stages. */
  readonly candidates: number | null;
}

export function drawShape(worlds: Worlds, random: RandomNumbers): Shape {
  const isOneOf = (share: number): boolean => random.uniform() < share;
  const among = <Value>(...values: readonly Value[]): Value => values[random.below(values.length)] as Value;
  const hasStore = isOneOf(0.7);
  const decoys = ['retriever', 'retriever', 'index', 'embedder'] as const;
  return worlds === 'training'
    ? {
        golden: 60 + random.below(270),
        k: among(8, 10, 15),
        waver: isOneOf(0.5) ? 0 : 0.06 * random.uniform(),
        latencyMs: 10 * 10 ** random.uniform(),
        latencySpread: 0.2 + 0.3 * random.uniform(),
        index: among('lists', 'lists', 'graph'),
        quality: 0.88 + 0.1 * random.uniform(),
        segments: isOneOf(0.4) ? 0 : 2 + random.below(4),
        hasStore,
        hasEmbedder: hasStore && isOneOf(0.7),
        isEmbedderShared: isOneOf(0.95),
        hasDensity: hasStore && isOneOf(0.6),
        liveQueries: isOneOf(0.3) ? 0 : 150 + random.below(850),
        badRuns: 1 + random.below(3),
        olderRuns: random.below(4),
        decoy: isOneOf(0.2) ? among(...decoys) : null,
        slack: 0.02 + 0.03 * random.uniform(),
        candidates: isOneOf(0.4) ? 2 + random.below(4) : null,
      }
    : {
        golden: 40 + random.below(361),
        k: among(5, 10, 20),
        waver: isOneOf(0.5) ? 0 : 0.08 * random.uniform(),
        latencyMs: 5 * 40 ** random.uniform(),
        latencySpread: 0.15 + 0.45 * random.uniform(),
        index: among('graph', 'graph', 'lists'),
        quality: 0.9 + 0.1 * random.uniform(),
        segments: isOneOf(0.4) ? 0 : 2 + random.below(6),
        hasStore,
        hasEmbedder: hasStore && isOneOf(0.7),
        isEmbedderShared: isOneOf(0.9),
        hasDensity: hasStore && isOneOf(0.6),
        liveQueries: isOneOf(0.3) ? 0 : 100 + random.below(1900),
        badRuns: 1 + random.below(3),
        olderRuns: random.below(4),
        decoy: isOneOf(0.2) ? among(...decoys) : null,
        slack: 0.02 + 0.06 * random.uniform(),
        candidates: isOneOf(0.4) ? 2 + random.below(4) : null,
      };
}
