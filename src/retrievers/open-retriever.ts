/** Config -> retrievers. A new kind is one line here. */

import type { Embedder } from '../embedders/embedder.ts';
import { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { createReranker } from '../models/open-rerankers.ts';
import { createJsonApi } from '../outbound/json-api.ts';
import { basic, createServiceSettings, keyHeader, loginKey, readTls } from '../outbound/service-settings.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { createCommandRetriever } from './command/command.ts';
import type { RetrieverConfig } from './config.ts';
import { createHttpRetriever } from './http.ts';
import { createRerankRetriever } from './rerank.ts';
import type { Retriever } from './retriever.ts';
import * as dialects from './search-engine/dialect.ts';
import { createSearchEngineRetriever, type SearchMode } from './search-engine/search-engine.ts';
import { createVectorStoreRetriever } from './vector-store-retriever.ts';

/** What else of its pipeline a retriever may stand on. */
export interface RetrieverParts {
  readonly embedder: Embedder | null;
  readonly store: VectorStore | null;
  readonly logger: Logger;
}

type ConfigOf<Kind extends RetrieverConfig['kind']> = Extract<RetrieverConfig, { kind: Kind }>;

/**
 * @param field where the config describes it
 * @throws RecalldError config_invalid when a template, an expression, an address or a file of it is wrong
 */
export function createRetriever(
  config: RetrieverConfig,
  parts: RetrieverParts,
  field = 'retriever',
): Retriever {
  switch (config.kind) {
    case 'http':
      return httpRetriever(config, field);
    case 'vector_store':
      return vectorStoreRetriever(config, parts, field);
    case 'elasticsearch':
      return searchEngineRetriever(config, dialects.elasticsearch, parts, field);
    case 'opensearch':
      return searchEngineRetriever(config, dialects.opensearch, parts, field);
    case 'command':
      return commandRetriever(config, parts);
    case 'rerank':
      return createRerankRetriever({
        first: createRetriever(config.of, parts, `${field}.of`),
        reranker: createReranker(config.reranker, `${field}.reranker`),
        candidates: config.candidates,
        timeoutMs: config.timeout_ms,
      });
  }
}

const defaultBody = { query: '{{text}}', k: '{{k}}' };

function httpRetriever(config: ConfigOf<'http'>, configField: string): Retriever {
  const { url, method, headers, body, results, timeout_ms: timeoutMs, retries } = config;
  const { text, ...expressions } = results;
  const tls = readTls(config.tls, `${configField}.tls`);
  return createHttpRetriever({
    url,
    method,
    headers,
    body: body ?? (method === 'GET' ? null : defaultBody),
    results: text === undefined ? expressions : { ...expressions, text },
    timeoutMs,
    retries,
    configField,
    ...(tls === undefined ? {} : { tls }),
  });
}

function vectorStoreRetriever(
  { filter, timeout_ms: timeoutMs }: ConfigOf<'vector_store'>,
  { embedder, store }: RetrieverParts,
  configField: string,
): Retriever {
  if (store === null) throw missing('vector_store', configField);
  if (embedder === null) throw missing('embedder', configField);
  return createVectorStoreRetriever({ embedder, store, filter, timeoutMs, configField });
}

function searchEngineRetriever(
  config: ConfigOf<'elasticsearch' | 'opensearch'>,
  dialect: dialects.Dialect,
  { embedder }: RetrieverParts,
  configField: string,
): Retriever {
  // OpenSearch takes a token where Elasticsearch takes an API key.
  const scheme = config.kind === 'elasticsearch' ? 'ApiKey' : 'Bearer';
  const key = config.api_key === undefined ? undefined : `${scheme} ${config.api_key}`;
  const api = createJsonApi(
    createServiceSettings(config, {
      service: dialect.name,
      configField,
      credentials: { ...basic(config.username, config.password), ...keyHeader('authorization', key) },
      credentialsKey: loginKey(config),
    }),
  );
  return createSearchEngineRetriever({
    api,
    dialect,
    index: config.index,
    mode: searchMode(config.mode, embedder, configField),
    fields: config.fields,
    query: config.query ?? null,
    embedding: config.embedding,
    candidates: config.num_candidates,
    filter: config.filter,
    id: config.id,
    content: config.content ?? null,
    rankConstant: config.rank_constant,
    configField,
  });
}

function searchMode(kind: SearchMode['kind'], embedder: Embedder | null, configField: string): SearchMode {
  if (kind === 'bm25') return { kind };
  if (embedder === null) throw missing('embedder', configField);
  return { kind, embedder };
}

function commandRetriever(config: ConfigOf<'command'>, { logger }: RetrieverParts): Retriever {
  return createCommandRetriever({
    command: config.command,
    directory: config.directory ?? null,
    environment: config.environment,
    timeoutMs: config.timeout_ms,
    startTimeoutMs: config.start_timeout_ms,
    logger,
  });
}

/** The contract of the config refuses this already, with the place; this is for configs made in code. */
function missing(part: string, configField: string): RecalldError {
  return new RecalldError('config_invalid', `${configField}: it needs the ${part} of its pipeline.`);
}
