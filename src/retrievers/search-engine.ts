/** Elasticsearch and OpenSearch asked directly: by words, by vectors, or by both. */
import type { Embedder } from '../embedders/embedder.ts';
import { reciprocalRankFusion } from '../math/ir/ranking.ts';
import { fieldAt, fieldsOf, type JsonApi } from '../outbound/json-api.ts';
import { readId } from './results.ts';
import {
  type FoundDocument,
  failureOf,
  type Retriever,
  type RetrieverAnswer,
  type RetrieverRequest,
} from './retriever.ts';
import { compileFilter, compileValue, type JsonValue } from './template.ts';

interface NearestQuery {
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

/** How documents are found: by words alone, or with the vectors of an embedder. */
export type SearchMode = { readonly kind: 'bm25' } | { readonly kind: 'knn' | 'hybrid'; readonly embedder: Embedder };

export interface SearchEngineSettings {
  readonly api: JsonApi;
  readonly dialect: Dialect;
  readonly index: string;
  readonly mode: SearchMode;
  /** Fields that words are searched in, unless `query` says otherwise. */
  readonly fields: readonly string[];
  /** Query in the language of the engine; strings may hold placeholders. */
  readonly query: JsonValue | null;
  /** Field of the vector. */
  readonly embedding: string;
  readonly candidates: number;
  /** Values may hold placeholders; see compileFilter. */
  readonly filter: Readonly<Record<string, string>>;
  /** `_id`, or a field. */
  readonly id: string;
  /** Field of the text, null when there is none. */
  readonly content: string | null;
  /** See reciprocalRankFusion. */
  readonly rankConstant: number;
  /** Where the config describes it. */
  readonly configField: string;
}

/** The engines refuse more. */
const MAX_CANDIDATES = 10_000;

/**
 * Sends `POST {index}/_search`. Scores are those of the engine; with `hybrid` the words and the vectors are asked at
 * the same time, each for as many candidates as `candidates` says and for k at least, and the score is that of
 * reciprocal rank fusion. It is done here because the engines do it only in some versions and licences.
 *
 * Failures keep the codes of embedder and engine; beside those of the connection see readHits.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder
 */
export function createSearchEngineRetriever(settings: SearchEngineSettings): Retriever {
  const { mode, configField } = settings;
  const renderQuery = settings.query === null ? null : compileValue(settings.query, `${configField}.query`);
  const renderFilter = compileFilter(settings.filter, `${configField}.filter`);
  const path = `/${encodeURIComponent(settings.index)}/_search`;

  const search = async (
    body: Readonly<Record<string, JsonValue>>,
    { withText = false }: RetrieverRequest,
    signal: AbortSignal,
  ): Promise<RetrieverAnswer> => {
    const content = withText ? settings.content : null;
    const wanted = [settings.id, content].filter((field) => field !== null && field !== '_id');
    const source = wanted.length === 0 ? false : wanted;
    const answer = await settings.api.call(
      { method: 'POST', path, body: { ...body, _source: source }, purpose: 'search' },
      signal,
    );
    if (answer.kind === 'failed') return failureOf(answer);
    const { latencyMs } = answer;
    const reading = readHits(answer.json, settings.dialect.name, { id: settings.id, content, configField });
    return { ...reading, latencyMs, attempts: 1 };
  };

  const byWords = (request: RetrieverRequest, size: number, signal: AbortSignal) => {
    const query = renderQuery?.(request) ?? {
      multi_match: { query: request.text, fields: settings.fields },
    };
    const filter = filterClauses(renderFilter(request));
    const filtered = filter.length === 0 ? query : { bool: { must: [query], filter } };
    return search({ size, query: filtered }, request, signal);
  };

  const byVectors = async (
    request: RetrieverRequest,
    size: number,
    embedder: Embedder,
    signal: AbortSignal,
  ): Promise<RetrieverAnswer> => {
    const embedded = await embedder.embed([request.text], signal);
    if (embedded.kind === 'failed') return failureOf(embedded);
    const [vector = new Float32Array()] = embedded.vectors;
    const nearest = settings.dialect.nearest({
      field: settings.embedding,
      vector,
      size,
      candidates: Math.max(size, settings.candidates),
      filter: filterClauses(renderFilter(request)),
    });
    const found = await search({ size, ...nearest }, request, signal);
    return { ...found, latencyMs: embedded.latencyMs + found.latencyMs };
  };

  const byBoth = async (
    request: RetrieverRequest,
    embedder: Embedder,
    signal: AbortSignal,
  ): Promise<RetrieverAnswer> => {
    const size = Math.min(MAX_CANDIDATES, Math.max(request.k, settings.candidates));
    const answers = await Promise.all([byWords(request, size, signal), byVectors(request, size, embedder, signal)]);
    const failed = answers.find((answer) => answer.kind !== 'documents');
    if (failed !== undefined) return failed;
    const rankings = answers.map((answer) => (answer.kind === 'documents' ? answer.documents : []));
    const fused = reciprocalRankFusion(rankings, settings.rankConstant);
    return {
      kind: 'documents',
      documents: fused.slice(0, request.k).map(({ item, score }) => ({ ...item, score })),
      ...(request.withStages === true
        ? {
            stages: (['words', 'vectors'] as const).map((name, side) => ({
              name,
              isSide: true,
              documents: rankings[side] ?? [],
              latencyMs: answers[side]?.latencyMs ?? 0,
            })),
          }
        : {}),
      latencyMs: Math.max(...answers.map(({ latencyMs }) => latencyMs)),
      attempts: 1,
    };
  };

  return {
    retrieve(request, signal) {
      if (mode.kind === 'bm25') return byWords(request, request.k, signal);
      if (mode.kind === 'knn') return byVectors(request, request.k, mode.embedder, signal);
      return byBoth(request, mode.embedder, signal);
    },
    close: async () => settings.api.close(),
  };
}

function filterClauses(filter: Readonly<Record<string, string>>): JsonValue[] {
  return Object.entries(filter).map(([field, value]) => ({ term: { [field]: value } }));
}

interface HitFields {
  /** `_id`, or a field of `_source`. */
  readonly id: string;
  /** Field of the text, null when the text is not wanted. */
  readonly content: string | null;
  readonly configField: string;
}

type HitReading =
  | { readonly kind: 'documents'; readonly documents: readonly FoundDocument[] }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

/**
 * The hits as documents. An answer that stands for a part of the index only is an error and no ranking:
 * `search_timed_out` and `shards_failed`; so are `no_result_list` and `missing_id`.
 */
function readHits(json: unknown, engine: Dialect['name'], fields: HitFields): HitReading {
  const error = (code: string, problem: string): HitReading => ({
    kind: 'error',
    code,
    message: `${engine} ${problem}.`,
  });
  const answer = fieldsOf(json);
  const list = fieldsOf(answer['hits'])['hits'];
  if (!Array.isArray(list)) {
    return error('no_result_list', `answered without hits.hits; check ${fields.configField}.url`);
  }
  if (answer['timed_out'] === true) {
    return error('search_timed_out', 'gave up before it had searched the whole index; look at its load');
  }
  const failed = fieldsOf(answer['_shards'])['failed'];
  if (typeof failed === 'number' && failed > 0) {
    return error('shards_failed', `answered without ${failed} shards of the index; look at their state`);
  }
  const documents: FoundDocument[] = [];
  for (const [place, hit] of (list as unknown[]).entries()) {
    const parts = fieldsOf(hit);
    const source = parts['_source'];
    const id = readId(fields.id === '_id' ? parts['_id'] : fieldAt(source, fields.id));
    if (id === null) {
      const where = `${fields.configField}.id is ${fields.id}`;
      return error('missing_id', `gave no usable id for the hit at rank ${place + 1}: ${where}`);
    }
    const score = typeof parts['_score'] === 'number' ? parts['_score'] : null;
    const text = fields.content === null ? null : fieldAt(source, fields.content);
    documents.push(
      fields.content === null ? { id, score } : { id, score, text: typeof text === 'string' ? text : null },
    );
  }
  return { kind: 'documents', documents };
}
