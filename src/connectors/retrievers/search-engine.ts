/** Queries Elasticsearch and OpenSearch directly: by keywords, by vectors, or by both. */

import { reciprocalRankFusion } from '../../math/ir/ranking.ts';
import { basic, createJsonApi, fieldAt, fieldsOf, keyHeader, loginKey } from '../../platform/outbound/json-api.ts';
import type { Embedder } from '../embedders/embedder.ts';
import { elasticsearchKnn, opensearchKnn } from '../stores/search-engine/dialects.ts';
import type { RetrieverConfigOf } from './config.ts';
import { readId } from './results.ts';
import {
  type FoundDocument,
  failureOf,
  missingPart,
  type Reading,
  type Retriever,
  type RetrieverAnswer,
  type RetrieverParts,
  type RetrieverRequest,
} from './retriever.ts';
import { compileFilter, compileValue, type JsonValue, refuseWithoutText } from './template.ts';

/** Differences between the engines: the name, and the vector query in a search request. */
const dialects = {
  elasticsearch: { name: 'Elasticsearch', nearest: elasticsearchKnn<JsonValue> },
  opensearch: {
    name: 'OpenSearch',
    // OpenSearch limits the number of returned results by `size`, and the number of candidates by `k`.
    nearest: (field: string, vector: Float32Array, _size: number, candidates: number, filter: readonly JsonValue[]) =>
      opensearchKnn(field, vector, candidates, filter),
  },
} as const;

/** Maximum number of candidates; the engines reject larger numbers. */
const MAX_CANDIDATES = 10_000;

/**
 * Sends `POST {index}/_search`. Scores come from the engine. With `hybrid`, a keyword search and a vector search run
 * concurrently, and scores come from reciprocal rank fusion. Each of the two searches requests `num_candidates`
 * results, or k results if k is larger. recalld combines the results itself, because the engines support rank fusion
 * only in some versions and licenses.
 *
 * Failures have the codes of the embedder and the engine; `readHits` lists the other codes.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder
 */
export function createSearchEngineRetriever(
  config: RetrieverConfigOf<'elasticsearch' | 'opensearch'>,
  { embedder }: RetrieverParts,
  configField: string,
): Retriever {
  const dialect = dialects[config.kind];
  const key = config.api_key === undefined ? undefined : `ApiKey ${config.api_key}`;
  const api = createJsonApi(config, {
    service: dialect.name,
    configField,
    credentials: { ...basic(config.username, config.password), ...keyHeader('authorization', key) },
    credentialsKey: loginKey(config),
  });
  const renderQuery = config.query === undefined ? null : compileValue(config.query, `${configField}.query`);
  if (config.query !== undefined)
    refuseWithoutText([config.query], `${configField}.query`, '{match: {text: "{{text}}"}}');
  const renderFilter = compileFilter(config.filter, `${configField}.filter`);
  const path = `/${encodeURIComponent(config.index)}/_search`;

  const search = async (
    body: Readonly<Record<string, JsonValue>>,
    { withText = false }: RetrieverRequest,
    signal: AbortSignal,
  ): Promise<RetrieverAnswer> => {
    const content = withText ? (config.content ?? null) : null;
    const wanted = [config.id, content].filter((field) => field !== null && field !== '_id');
    const source = wanted.length === 0 ? false : wanted;
    const answer = await api.call(
      { method: 'POST', path, body: { ...body, _source: source }, purpose: 'search' },
      signal,
    );
    if (answer.kind === 'failed') return failureOf(answer);
    const { latencyMs } = answer;
    const reading = readHits(answer.json, dialect.name, { id: config.id, content, configField });
    return { ...reading, latencyMs, attempts: 1 };
  };

  const byWords = (request: RetrieverRequest, size: number, signal: AbortSignal) => {
    const query = renderQuery?.(request) ?? {
      multi_match: { query: request.text, fields: config.fields },
    };
    const filter = filterClauses(renderFilter(request));
    const filtered = filter.length === 0 ? query : { bool: { must: [query], filter } };
    return search({ size, query: filtered }, request, signal);
  };

  const byVectors = async (request: RetrieverRequest, size: number, embedder: Embedder, signal: AbortSignal) => {
    const embedded = await embedder.embed([request.text], signal);
    if (embedded.kind === 'failed') return failureOf(embedded);
    const [vector = new Float32Array()] = embedded.vectors;
    const candidates = Math.max(size, config.num_candidates);
    const nearest = dialect.nearest(config.embedding, vector, size, candidates, filterClauses(renderFilter(request)));
    const found = await search({ size, ...nearest }, request, signal);
    return { ...found, latencyMs: embedded.latencyMs + found.latencyMs };
  };

  const byBoth = async (
    request: RetrieverRequest,
    embedder: Embedder,
    signal: AbortSignal,
  ): Promise<RetrieverAnswer> => {
    const size = Math.min(MAX_CANDIDATES, Math.max(request.k, config.num_candidates));
    const answers = await Promise.all([byWords(request, size, signal), byVectors(request, size, embedder, signal)]);
    const failed = answers.find((answer) => answer.kind !== 'documents');
    if (failed !== undefined) return failed;
    const rankings = answers.map((answer) => (answer.kind === 'documents' ? answer.documents : []));
    const fused = reciprocalRankFusion(rankings, config.rank_constant);
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

  const retrieve = (): Retriever['retrieve'] => {
    if (config.mode === 'bm25') return (request, signal) => byWords(request, request.k, signal);
    if (embedder === null) throw missingPart('embedder', configField);
    return config.mode === 'knn'
      ? (request, signal) => byVectors(request, request.k, embedder, signal)
      : (request, signal) => byBoth(request, embedder, signal);
  };
  return { retrieve: retrieve(), close: async () => api.close() };
}

function filterClauses(filter: Readonly<Record<string, string>>): JsonValue[] {
  return Object.entries(filter).map(([field, value]) => ({ term: { [field]: value } }));
}

/**
 * Returns the hits as documents. If a response covers only part of the index, returns an error instead of a ranking:
 * `search_timed_out` or `shards_failed`. Other possible errors are `no_result_list` and `missing_id`.
 */
function readHits(
  json: unknown,
  engine: string,
  fields: {
    /** Name of the id field: `_id`, or a field of `_source`. */
    readonly id: string;
    /** Name of the text field; null if the text is not needed. */
    readonly content: string | null;
    readonly configField: string;
  },
): Reading {
  const error = (code: string, problem: string): Reading => ({
    kind: 'error',
    code,
    message: `${engine} ${problem}.`,
  });
  const answer = fieldsOf(json);
  const list = fieldsOf(answer['hits'])['hits'];
  if (!Array.isArray(list)) {
    return error('no_result_list', `returned no hits.hits; check ${fields.configField}.url`);
  }
  if (answer['timed_out'] === true) {
    return error('search_timed_out', 'timed out before it had searched the whole index; check its load');
  }
  const failed = fieldsOf(answer['_shards'])['failed'];
  if (typeof failed === 'number' && failed > 0) {
    return error('shards_failed', `did not search the whole index (failed shards: ${failed}); check its shards`);
  }
  const documents: FoundDocument[] = [];
  for (const [place, hit] of (list as unknown[]).entries()) {
    const parts = fieldsOf(hit);
    const source = parts['_source'];
    const id = readId(fields.id === '_id' ? parts['_id'] : fieldAt(source, fields.id));
    if (id === null) {
      const where = `${fields.configField}.id is ${fields.id}`;
      return error('missing_id', `returned no valid id for the hit at rank ${place + 1}: ${where}`);
    }
    const score = typeof parts['_score'] === 'number' ? parts['_score'] : null;
    const text = fields.content === null ? null : fieldAt(source, fields.content);
    documents.push(
      fields.content === null ? { id, score } : { id, score, text: typeof text === 'string' ? text : null },
    );
  }
  return { kind: 'documents', documents };
}
