/** What Chroma says of a collection. */

import { at, type Fields, fieldsOf, numberOf, textOf } from '../../outbound/json-value.ts';
import type { ScoreKind, VectorMetric } from '../vector-store.ts';

export interface Collection {
  readonly id: string;
  /** null until the first vector came. */
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  /** Settings of the index and of what embeds its documents. */
  readonly configuration: Fields;
  /** What its owner wrote about it, such as the version of the index. */
  readonly metadata: Fields;
}

const squaredL2 = { metric: 'l2', scoreKind: 'squared_l2' } as const;

/** By what Chroma calls a space; it takes l2 unless told. */
const spaces: Readonly<Record<string, Pick<Collection, 'metric' | 'scoreKind'>>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine_distance' },
  l2: squaredL2,
  ip: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/** null when it is no description of a collection. */
export function readCollection(answer: unknown): Collection | null {
  const id = textOf(at(answer, 'id'));
  if (id === null) return null;
  const configuration = fieldsOf(at(answer, 'configuration_json'));
  const index = configuration['hnsw'] ?? configuration['spann'];
  return {
    id,
    dimensions: numberOf(at(answer, 'dimension')),
    ...(spaces[textOf(at(index, 'space')) ?? 'l2'] ?? squaredL2),
    configuration,
    metadata: fieldsOf(at(answer, 'metadata')),
  };
}
