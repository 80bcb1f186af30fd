/**
 * Elasticsearch 8 and 9 over REST.
 *
 * Source: github.com/elastic/elasticsearch-specification (specification/_types/Knn.ts, query_dsl/compound.ts,
 * mapping/DenseVectorProperty.ts) and the page "Dense vector field type" of www.elastic.co/docs/reference.
 */

import { at, fieldsOf, numberOf, textOf } from '../../outbound/json-value.ts';
import { unsupported } from '../outcome.ts';
import type { VectorStore } from '../vector-store.ts';
import type { Dialect, Scoring, VectorField } from './dialect.ts';
import { createSearchEngineStore, type SearchEngineSettings } from './store.ts';

export interface ElasticsearchSettings extends SearchEngineSettings {
  /** Candidates of each shard; left out, twice k and at least 100. */
  readonly numCandidates?: number | undefined;
}

const MOST_CANDIDATES = 10_000;

const similarities: Readonly<Record<string, Pick<VectorField, 'metric' | 'scoring'>>> = {
  cosine: { metric: 'cosine', scoring: 'shifted_cosine' },
  // Vectors under dot_product must have length 1, so that their dot product is their cosine.
  dot_product: { metric: 'dot', scoring: 'shifted_cosine' },
  l2_norm: { metric: 'l2', scoring: 'inverse_squared_l2' },
  max_inner_product: { metric: 'dot', scoring: 'shifted_dot' },
};

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample is drawn by `random_score` over `_seq_no` with a seed, uniform over the documents that have a vector, and
 * stays the same while none is written. It costs one call for the ids, one for each portion of up to 1,000 vectors,
 * and two for the mapping. One draw takes at most `max_result_window` documents, by default 10,000.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createElasticsearchStore(settings: ElasticsearchSettings): VectorStore {
  return createSearchEngineStore(settings, elasticsearch(settings.numCandidates));
}

function elasticsearch(numCandidates: number | undefined): Dialect {
  return {
    kind: 'elasticsearch',

    readField(name, mapping) {
      const type = textOf(mapping['type']);
      const element = textOf(mapping['element_type']) ?? 'float';
      if (type !== 'dense_vector' || element === 'bit') {
        throw unsupported(`The field ${name} of Elasticsearch is no dense_vector of numbers.`);
      }
      const similarity = textOf(mapping['similarity']) ?? 'cosine';
      const kinds = similarities[similarity];
      if (kinds === undefined || (similarity === 'dot_product' && element === 'byte')) {
        throw unsupported(
          `The similarity ${similarity} of ${element} vectors in Elasticsearch has no cosine.`,
        );
      }
      return { dimensions: numberOf(mapping['dims']), ...kinds, isIndexed: mapping['index'] !== false };
    },

    approximate(field, { vector, k }, filters) {
      const candidates = Math.max(k, numCandidates ?? Math.max(100, 2 * k));
      return {
        knn: {
          field,
          query_vector: [...vector],
          k,
          num_candidates: Math.min(MOST_CANDIDATES, candidates),
          ...(filters.length === 0 ? {} : { filter: filters }),
        },
      };
    },

    script: (field, vector, scoring) => ({
      source: sourceOf(field, scoring),
      params: { query_vector: vector },
    }),

    // From 9.2 on `_source` has no vectors; the option `fields` gives them in every version.
    returning: (field, source, withVector) => ({
      _source: source.length > 0 && { includes: source },
      ...(withVector ? { fields: [field] } : {}),
    }),

    vectorIn: (hit, field) => fieldsOf(at(hit, 'fields'))[field],
  };
}

/** The functions take the name of the field as a constant. */
function sourceOf(field: string, scoring: Scoring): string {
  const name = `'${field.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  switch (scoring) {
    case 'shifted_cosine':
      return `Math.max(0.0, (1.0 + cosineSimilarity(params.query_vector, ${name})) / 2.0)`;
    case 'inverse_squared_l2':
      return `1.0 / (1.0 + Math.pow(l2norm(params.query_vector, ${name}), 2))`;
    case 'shifted_dot':
      return `double dot = dotProduct(params.query_vector, ${name}); return dot < 0 ? 1.0 / (1.0 - dot) : dot + 1.0;`;
  }
}
