/** Config -> retrievers. A new kind is one line here. */

import type { Embedder } from '../embedders/embedder.ts';
import { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { createReranker, type Reranker } from '../models/reranker.ts';
import { basic, createJsonApi, createServiceSettings, keyHeader, loginKey, readTls } from '../outbound/json-api.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { createCommandRetriever } from './command.ts';
import type { RetrieverConfig } from './config.ts';
import { createHttpRetriever } from './http.ts';
import {
  type FoundDocument,
  failureOf,
  type Retriever,
  type RetrieverAnswer,
  type RetrieverStage,
  withinDeadline,
} from './retriever.ts';
import * as dialects from './search-engine.ts';
import { createSearchEngineRetriever, type SearchMode } from './search-engine.ts';
import { compileFilter, holdsText, type JsonValue } from './template.ts';

/** What else of its pipeline a retriever may stand on. */
interface RetrieverParts {
  readonly embedder: Embedder | null;
  readonly store: VectorStore | null;
  readonly logger: Logger;
  /** Whether errors may repeat what the retriever itself says: its messages and the names in its answers. */
  readonly repeatsAnswers: boolean;
}

type ConfigOf<Kind extends RetrieverConfig['kind']> = Extract<RetrieverConfig, { kind: Kind }>;

/**
 * @param field where the config describes it
 * @throws RecalldError config_invalid when a template, an expression, an address or a file of it is wrong
 */
export function createRetriever(config: RetrieverConfig, parts: RetrieverParts, field = 'retriever'): Retriever {
  switch (config.kind) {
    case 'http':
      return httpRetriever(config, parts, field);
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

function httpRetriever(config: ConfigOf<'http'>, { repeatsAnswers }: RetrieverParts, configField: string): Retriever {
  const { url, method, headers, body, results, timeout_ms: timeoutMs, retries } = config;
  const { text, ...expressions } = results;
  const tls = readTls(config.tls, `${configField}.tls`);
  const sent = body ?? (method === 'GET' ? null : defaultBody);
  const retriever = createHttpRetriever({
    url,
    method,
    headers,
    body: sent,
    results: text === undefined ? expressions : { ...expressions, text },
    timeoutMs,
    retries,
    configField,
    repeatsAnswers,
    ...(tls === undefined ? {} : { tls }),
    proxy: config.proxy,
  });
  refuseWithoutText(
    [url, { ...headers }, sent],
    method === 'GET' ? `${configField}.url` : `${configField}.body`,
    method === 'GET' ? `${url.split('?')[0]}?q={{text}}` : '{query: "{{text}}"}',
  );
  return retriever;
}

/** Every query would get the same answer. @throws RecalldError config_invalid */
function refuseWithoutText(templates: readonly JsonValue[], field: string, example: string): void {
  if (templates.some(holdsText)) return;
  throw new RecalldError(
    'config_invalid',
    `${field}: no part of the request holds {{text}}, so that every query would be asked the same; put it where the text of the query belongs, such as ${example}.`,
  );
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
  const retriever = createSearchEngineRetriever({
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
  if (config.query !== undefined)
    refuseWithoutText([config.query], `${configField}.query`, '{match: {text: "{{text}}"}}');
  return retriever;
}

function searchMode(kind: SearchMode['kind'], embedder: Embedder | null, configField: string): SearchMode {
  if (kind === 'bm25') return { kind };
  if (embedder === null) throw missing('embedder', configField);
  return { kind, embedder };
}

function commandRetriever(config: ConfigOf<'command'>, { logger, repeatsAnswers }: RetrieverParts): Retriever {
  return createCommandRetriever({
    command: config.command,
    directory: config.directory ?? null,
    environment: config.environment,
    timeoutMs: config.timeout_ms,
    startTimeoutMs: config.start_timeout_ms,
    repeatsAnswers,
    logger,
  });
}

/** The contract of the config refuses this already, with the place; this is for configs made in code. */
function missing(part: string, configField: string): RecalldError {
  return new RecalldError('config_invalid', `${configField}: it needs the ${part} of its pipeline.`);
}

interface RerankSettings {
  readonly first: Retriever;
  readonly reranker: Reranker;
  /** How many documents the first stage is asked for. */
  readonly candidates: number;
  /** For both stages together. */
  readonly timeoutMs: number;
}

/**
 * Asks the first stage for candidates with their texts and gives the best k by the reranker. Failures keep the codes
 * of the stage; a candidate without a text is the error `missing_text`, because to leave it out would change what is
 * measured.
 */
export function createRerankRetriever(settings: RerankSettings): Retriever {
  const { first, reranker, timeoutMs } = settings;
  return {
    retrieve: (request, signal) =>
      withinDeadline(timeoutMs, signal, async (signal) => {
        const { text, k, withText = false, withStages = false } = request;
        const found = await first.retrieve({ ...request, k: settings.candidates, withText: true }, signal);
        if (found.kind !== 'documents' || found.documents.length === 0) return found;
        const documents = found.documents.slice(0, settings.candidates);
        const candidates = documents.flatMap(({ id, text }) => (hasText(text) ? [{ id, text }] : []));
        if (candidates.length < documents.length) {
          const missing = `${documents.length - candidates.length} of ${documents.length}`;
          const message = `The first stage gave ${missing} documents without a text; check the field of the text in its config.`;
          return failureOf({ code: 'missing_text', message, latencyMs: found.latencyMs });
        }
        const ranked = await reranker.rerank({ text, candidates, k }, signal);
        if (ranked.kind === 'failed') return failureOf(ranked, found.latencyMs);
        const texts = new Map(withText ? candidates.map((candidate) => [candidate.id, candidate.text]) : []);
        return {
          kind: 'documents',
          documents: ranked.documents
            .slice(0, k)
            .map(({ id, score }) => (withText ? { id, score, text: texts.get(id) ?? null } : { id, score })),
          ...(withStages ? { stages: [...(found.stages ?? []), candidatesOf(found, documents)] } : {}),
          latencyMs: found.latencyMs + ranked.latencyMs,
          attempts: found.attempts,
        };
      }),
    async close() {
      await Promise.all([first.close?.(), reranker.close?.()]);
    },
  };
}

/** Those of a first stage that has candidates of its own are called otherwise. */
function candidatesOf(
  { stages = [], latencyMs }: Extract<RetrieverAnswer, { kind: 'documents' }>,
  documents: readonly FoundDocument[],
): RetrieverStage {
  const besides = stages.flatMap((stage) => (stage.isSide === true ? (stage.latencyMs ?? 0) : []));
  const inTurn = stages.flatMap((stage) => (stage.isSide === true ? [] : (stage.latencyMs ?? 0)));
  const told = [Math.max(0, ...besides), ...inTurn].reduce((sum, own) => sum + own, 0);
  const name = stages.some((stage) => stage.name === 'candidates') ? 'first_stage' : 'candidates';
  return { name, documents, latencyMs: Math.max(0, latencyMs - told) };
}

function hasText(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text.trim() !== '';
}

/** A retriever that is an embedding model and a vector store, without a service in front of them. */
interface VectorStoreRetrieverSettings {
  readonly embedder: Embedder;
  readonly store: VectorStore;
  /** Values may hold placeholders; see compileFilter. */
  readonly filter: Readonly<Record<string, string>>;
  /** For embedding and search together. */
  readonly timeoutMs: number;
  /** Where the config describes it. */
  readonly configField: string;
}

/**
 * Embeds the text and asks for the k nearest; the score of a document is its cosine similarity. Failures keep the
 * codes of embedder and store; `unsupported` says what this store cannot do. Fewer than k documents are an answer.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder in the filter
 */
export function createVectorStoreRetriever(settings: VectorStoreRetrieverSettings): Retriever {
  const { embedder, store, timeoutMs, configField } = settings;
  const renderFilter = compileFilter(settings.filter, `${configField}.filter`);
  return {
    retrieve: (request, signal) =>
      withinDeadline(timeoutMs, signal, async (signal) => {
        const embedded = await embedder.embed([request.text], signal);
        if (embedded.kind === 'failed') return failureOf(embedded);
        const earlierMs = embedded.latencyMs;
        const [vector = new Float32Array()] = embedded.vectors;
        const withContent = request.withText ?? false;
        const found = await store.nearest(
          { vector, k: request.k, filter: renderFilter(request), exact: false, withContent },
          signal,
        );
        if (found.kind === 'failed') return failureOf(found, earlierMs);
        if (found.kind === 'unsupported') {
          return failureOf({ code: 'unsupported', message: found.reason, latencyMs: earlierMs });
        }
        const documents = found.value.neighbours.map(({ id, similarity, content }) =>
          withContent ? { id, score: similarity, text: content } : { id, score: similarity },
        );
        return { kind: 'documents', documents, latencyMs: earlierMs + found.latencyMs, attempts: 1 };
      }),
  };
}
