/** Where Elasticsearch and OpenSearch differ; everything else they have in common. */

import type { Fields } from '../../outbound/json-value.ts';
import type { NearestRequest, ScoreKind, VectorMetric } from '../vector-store.ts';

/** What `_score` is. */
export type Scoring = Extract<ScoreKind, 'shifted_cosine' | 'inverse_squared_l2' | 'shifted_dot'>;

export interface VectorField {
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoring: Scoring;
  /** Whether the field has an index to search by; without one only a comparison with all vectors is possible. */
  readonly isIndexed: boolean;
}

export interface Dialect {
  readonly kind: string;
  /**
   * Reads the mapping of a vector field. @throws Refused for a field that holds no vectors we can compare
   *
   * @param settings of the index, flat
   */
  readField(name: string, mapping: Fields, settings: Fields): VectorField;
  /** Body of a search by the index. */
  approximate(field: string, request: NearestRequest, filters: readonly unknown[]): Fields;
  /** Script that gives every document the score that the index would give it. */
  script(field: string, vector: readonly number[], scoring: Scoring): Fields;
  /** What makes a search return the fields `source` and, if asked for, the vector. */
  returning(field: string, source: readonly string[], withVector: boolean): Fields;
  vectorIn(hit: unknown, field: string): unknown;
}
