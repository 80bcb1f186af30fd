/**
 * Differences between the query languages of Elasticsearch and OpenSearch.
 *
 * Source: github.com/elastic/elasticsearch-specification (specification/_types/Knn.ts, query_dsl/compound.ts,
 * mapping/DenseVectorProperty.ts), the page "Dense vector field type" of www.elastic.co/docs/reference, and
 * github.com/opensearch-project/documentation-website (_query-dsl/specialized/k-nn/index.md,
 * _mappings/supported-field-types/knn-spaces.md, _vector-search/vector-search-techniques/painless-functions.md).
 */
import { at, type Fields, fieldAt, fieldsOf, numberOf, textOf } from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import { unsupported } from '../store-rows.ts';
import type { NearestRequest, ScoredMetric, ScoreKind } from '../vector-store.ts';

export type EngineConfig = StoreConfigOf<'elasticsearch' | 'opensearch'>;

/** Meaning of `_score`. */
export type Scoring = Extract<ScoreKind, 'shifted_cosine' | 'inverse_squared_l2' | 'shifted_dot'>;

interface EngineMetric extends ScoredMetric {
  readonly scoreKind: Scoring;
}

export interface VectorField extends EngineMetric {
  readonly dimensions: number | null;
  /** True if the field is indexed; without an index, a search must compare the query with all vectors. */
  readonly isIndexed: boolean;
}

export interface Dialect {
  readonly name: 'Elasticsearch' | 'OpenSearch';
  /**
   * Reads the mapping of a vector field. @throws Refused if the field does not contain vectors that recalld can compare
   *
   * @param settings flat index settings
   */
  readField(name: string, mapping: Fields, settings: Fields): VectorField;
  /** Returns the body of an index search. */
  approximate(field: string, request: NearestRequest, filters: readonly unknown[]): Fields;
  /** Returns a script that computes, for every document, the score that the index would return. */
  script(field: string, vector: readonly number[], scoring: Scoring): Fields;
  /** Returns the options that make a search return the `source` fields and, if requested, the vector. */
  returning(field: string, source: readonly string[], withVector: boolean): Fields;
  vectorIn(hit: unknown, field: string): unknown;
}

const MAX_CANDIDATES = 10_000;

const similarities: Readonly<Record<string, EngineMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'shifted_cosine' },
  // Under `dot_product`, vectors must have norm 1, so their dot product is their cosine.
  dot_product: { metric: 'dot', scoreKind: 'shifted_cosine' },
  l2_norm: { metric: 'l2', scoreKind: 'inverse_squared_l2' },
  max_inner_product: { metric: 'dot', scoreKind: 'shifted_dot' },
};

export function dialectOf(config: EngineConfig): Dialect {
  return config.kind === 'elasticsearch' ? elasticsearch(config.num_candidates) : opensearch;
}

function elasticsearch(numCandidates: number | undefined): Dialect {
  return {
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
      return elasticsearchKnn(field, vector, k, Math.min(MAX_CANDIDATES, candidates), filters);
    },

    script: (field, vector, scoring) => ({
      source: sourceOf(field, scoring),
      params: { query_vector: vector },
    }),

    // Since Elasticsearch 9.2, `_source` has no vectors; the option `fields` returns the vectors in every version.
    returning: (field, source, withVector) => ({
      _source: source.length > 0 && { includes: source },
      ...(withVector ? { fields: [field] } : {}),
    }),

    vectorIn: (hit, field) => fieldsOf(at(hit, 'fields'))[field],
  };
}

/** Returns the top-level option `knn` of the search API (8.4 and later). Its filter applies during the search. */
export function elasticsearchKnn<Clause>(
  field: string,
  vector: Float32Array,
  k: number,
  candidates: number,
  filter: readonly Clause[],
) {
  const filtered = filter.length === 0 ? {} : { filter };
  return { knn: { field, query_vector: [...vector], k, num_candidates: candidates, ...filtered } };
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

const opensearch: Dialect = {
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
      const cause = mapping['model_id'] === undefined ? `the space ${space}` : 'a trained model';
      throw unsupported(
        `Scores of the OpenSearch field ${name} cannot be converted to a cosine, because the field uses ${cause}.`,
      );
    }
    const isIndexed = settings['index.knn'] === 'true' && mapping['index'] !== false;
    return { dimensions: numberOf(mapping['dimension']), ...kinds, isIndexed };
  },

  approximate: (field, { vector, k }, filters) => opensearchKnn(field, vector, k, filters),

  script: (field, vector, scoring) => ({
    source: sources[scoring],
    params: { field, query_value: vector },
  }),

  // The option `fields` does not return vectors; `_source` contains the vectors in every version.
  returning(field, source, withVector) {
    const includes = withVector ? [...source, field] : source;
    return { _source: includes.length > 0 && { includes } };
  },

  vectorIn: (hit, field) => fieldAt(at(hit, '_source'), field),
};

/**
 * Returns a search with the `knn` query of the k-NN plugin; `k` is the number of results per graph. The filter is part
 * of the query, so that it applies during the search (Lucene engine since 2.4, Faiss since 2.9). A filter that applies
 * after the search could leave fewer than k results.
 */
export function opensearchKnn<Clause>(field: string, vector: Float32Array, k: number, filter: readonly Clause[]) {
  const filtered = filter.length === 0 ? {} : { filter: { bool: { filter } } };
  return { query: { knn: { [field]: { vector: [...vector], k, ...filtered } } } };
}
