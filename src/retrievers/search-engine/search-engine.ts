/** Elasticsearch and OpenSearch asked directly: by words, by vectors, or by both. */

import type { Embedder } from '../../embedders/embedder.ts';
import { reciprocalRankFusion } from '../../ir/ranking.ts';
import type { JsonApi } from '../../outbound/json-api.ts';
import { failureOf } from '../deadline.ts';
import { compileFilter } from '../filter.ts';
import type { Retriever, RetrieverAnswer, RetrieverRequest } from '../retriever.ts';
import { compileValue, type JsonValue } from '../template.ts';
import type { Dialect } from './dialect.ts';
import { readHits } from './hits.ts';

/** How documents are found: by words alone, or with the vectors of an embedder. */
export type SearchMode =
  | { readonly kind: 'bm25' }
  | { readonly kind: 'knn' | 'hybrid'; readonly embedder: Embedder };

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
const MOST_CANDIDATES = 10_000;

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
    const size = Math.min(MOST_CANDIDATES, Math.max(request.k, settings.candidates));
    const answers = await Promise.all([
      byWords(request, size, signal),
      byVectors(request, size, embedder, signal),
    ]);
    const failed = answers.find((answer) => answer.kind !== 'documents');
    if (failed !== undefined) return failed;
    const rankings = answers.map((answer) => (answer.kind === 'documents' ? answer.documents : []));
    const fused = reciprocalRankFusion(rankings, settings.rankConstant);
    return {
      kind: 'documents',
      documents: fused.slice(0, request.k).map(({ item, score }) => ({ ...item, score })),
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
