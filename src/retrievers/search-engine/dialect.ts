/** Where the query languages of Elasticsearch and OpenSearch part: the search for nearest vectors. */
import type { JsonValue } from '../template.ts';

export interface NearestQuery {
  readonly field: string;
  readonly vector: Float32Array;
  /** How many documents are wanted. */
  readonly size: number;
  /** Candidates of each shard, at least `size`. */
  readonly candidates: number;
  /** Clauses that a document must match, none for no filter. */
  readonly filter: readonly JsonValue[];
}

/** An engine by name, and the part of a search body that asks it for nearest vectors. */
export interface Dialect {
  readonly name: 'Elasticsearch' | 'OpenSearch';
  nearest(query: NearestQuery): Readonly<Record<string, JsonValue>>;
}

/** The top-level `knn` of the search API (8.4 and later), which filters while it searches. */
export const elasticsearch: Dialect = {
  name: 'Elasticsearch',
  nearest: ({ field, vector, size, candidates, filter }) => ({
    knn: {
      field,
      query_vector: [...vector],
      k: size,
      num_candidates: candidates,
      ...(filter.length === 0 ? {} : { filter }),
    },
  }),
};

/**
 * The `knn` query of the k-NN plugin. Its `k` is what each graph gives, and `size` what comes back, so that `k` stands
 * for the candidates. The filter is inside of it, which filters while it searches (Lucene engine from 2.4 on, Faiss
 * from 2.9 on); around it, it would leave fewer than k.
 */
export const opensearch: Dialect = {
  name: 'OpenSearch',
  nearest: ({ field, vector, candidates, filter }) => ({
    query: {
      knn: {
        [field]: {
          vector: [...vector],
          k: candidates,
          ...(filter.length === 0 ? {} : { filter: { bool: { filter } } }),
        },
      },
    },
  }),
};
