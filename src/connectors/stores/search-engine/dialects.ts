/** Differences between the query languages of Elasticsearch and OpenSearch. */
import { at, fieldAt, fieldsOf, numberOf, textOf } from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import { unsupported } from '../store-rows.ts';
import type { VectorStore } from '../vector-store.ts';
import { createSearchEngineStore, type Dialect, type EngineMetric, type Scoring } from './store.ts';

const MAX_CANDIDATES = 10_000;

const similarities: Readonly<Record<string, EngineMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'shifted_cosine' },
  // Under `dot_product`, vectors must have norm 1, so that their dot product is their cosine.
  dot_product: { metric: 'dot', scoreKind: 'shifted_cosine' },
  l2_norm: { metric: 'l2', scoreKind: 'inverse_squared_l2' },
  max_inner_product: { metric: 'dot', scoreKind: 'shifted_dot' },
};

/**
 * Creates a store in Elasticsearch 8 or 9 over REST. Nothing is sent before the first call.
 *
 * Source: github.com/elastic/elasticsearch-specification (specification/_types/Knn.ts, query_dsl/compound.ts,
 * mapping/DenseVectorProperty.ts) and the page "Dense vector field type" of www.elastic.co/docs/reference.
 *
 * A sample uses `random_score` over `_seq_no` with a seed. The sample is uniform over the documents that have a vector,
 * and does not change while no document is written. A sample takes one call for the ids, one call per batch of up to
 * 1,000 vectors, and two calls for the mapping. One sample has at most `max_result_window` documents, by default
 * 10,000.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createElasticsearchStore(config: StoreConfigOf<'elasticsearch'>, configField: string): VectorStore {
  return createSearchEngineStore(config, configField, elasticsearch(config.num_candidates));
}

function elasticsearch(numCandidates: number | undefined): Dialect {
  return {
    kind: 'elasticsearch',
    name: 'Elasticsearch',

    readField(name, mapping) {
      const type = textOf(mapping['type']);
      const element = textOf(mapping['element_type']) ?? 'float';
      if (type !== 'dense_vector' || element === 'bit') {
        throw unsupported(`The Elasticsearch field ${name} is not a dense_vector of numbers.`);
      }
      const similarity = textOf(mapping['similarity']) ?? 'cosine';
      const kinds = similarities[similarity];
      if (kinds === undefined || (similarity === 'dot_product' && element === 'byte')) {
        throw unsupported(
          `The Elasticsearch similarity ${similarity} for ${element} vectors cannot be converted to a cosine.`,
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
          num_candidates: Math.min(MAX_CANDIDATES, candidates),
          ...(filters.length === 0 ? {} : { filter: filters }),
        },
      };
    },

    script: (field, vector, scoring) => ({
      source: sourceOf(field, scoring),
      params: { query_vector: vector },
    }),

    // Since 9.2, `_source` has no vectors; the option `fields` returns them in every version.
    returning: (field, source, withVector) => ({
      _source: source.length > 0 && { includes: source },
      ...(withVector ? { fields: [field] } : {}),
    }),

    vectorIn: (hit, field) => fieldsOf(at(hit, 'fields'))[field],
  };
}

/** Painless functions require the field name as a constant. */
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

const spaces: Readonly<Record<string, EngineMetric>> = {
  cosinesimil: { metric: 'cosine', scoreKind: 'shifted_cosine' },
  l2: { metric: 'l2', scoreKind: 'inverse_squared_l2' },
  innerproduct: { metric: 'dot', scoreKind: 'shifted_dot' },
};

/**
 * Uses Painless functions, not the script `knn_score`, whose cosine score is (1 + cos) for some vector types and (1 +
 * cos) / 2 for others.
 */
const sources: Readonly<Record<Scoring, string>> = {
  shifted_cosine: 'Math.max(0.0, (1.0 + cosineSimilarity(params.query_value, doc[params.field])) / 2.0)',
  inverse_squared_l2: '1.0 / (1.0 + l2Squared(params.query_value, doc[params.field]))',
  shifted_dot:
    'double dot = innerProduct(params.query_value, doc[params.field]); return dot < 0 ? 1.0 / (1.0 - dot) : dot + 1.0;',
};

/**
 * Creates a store in OpenSearch 2 or 3 with its k-NN plugin, over REST. Nothing is sent before the first call.
 *
 * Source: github.com/opensearch-project/documentation-website (_query-dsl/specialized/k-nn/index.md,
 * _mappings/supported-field-types/knn-spaces.md, _vector-search/vector-search-techniques/painless-functions.md).
 *
 * A sample uses `random_score` over `_seq_no` with a seed. The sample is uniform over the documents that have a vector,
 * and does not change while no document is written. A sample takes one call for the ids, one call per batch of up to
 * 1,000 vectors, and two calls for the mapping. One sample has at most `max_result_window` documents, by default
 * 10,000.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createOpenSearchStore(config: StoreConfigOf<'opensearch'>, configField: string): VectorStore {
  return createSearchEngineStore(config, configField, opensearch);
}

const opensearch: Dialect = {
  kind: 'opensearch',
  name: 'OpenSearch',

  readField(name, mapping, settings) {
    if (textOf(mapping['type']) !== 'knn_vector' || textOf(mapping['data_type']) === 'binary') {
      throw unsupported(`The OpenSearch field ${name} is not a knn_vector of numbers.`);
    }
    const space =
      textOf(mapping['space_type']) ??
      textOf(at(mapping, 'method', 'space_type')) ??
      textOf(settings['index.knn.space_type']) ??
      'l2';
    const kinds = spaces[space];
    if (kinds === undefined || mapping['model_id'] !== undefined) {
      const what = mapping['model_id'] === undefined ? `space ${space}` : 'trained model';
      throw unsupported(`The ${what} of the OpenSearch field ${name} has scores that cannot be converted to a cosine.`);
    }
    const isIndexed = settings['index.knn'] === 'true' && mapping['index'] !== false;
    return { dimensions: numberOf(mapping['dimension']), ...kinds, isIndexed };
  },

  approximate: (field, { vector, k }, filters) => ({
    query: {
      knn: {
        [field]: {
          vector: [...vector],
          k,
          ...(filters.length === 0 ? {} : { filter: { bool: { filter: filters } } }),
        },
      },
    },
  }),

  script: (field, vector, scoring) => ({
    source: sources[scoring],
    params: { field, query_value: vector },
  }),

  // The option `fields` does not return vectors; `_source` has them in every version.
  returning(field, source, withVector) {
    const includes = withVector ? [...source, field] : source;
    return { _source: includes.length > 0 && { includes } };
  },

  vectorIn: (hit, field) => fieldAt(at(hit, '_source'), field),
};
