/** Opens connectors as if they were in a config: defaults are filled in, and an invalid connector causes an error. */
import type { z } from 'zod';
import { type Embedder, embedderSchema } from '../../src/connectors/embedders/embedder.ts';
import { createEmbedder } from '../../src/connectors/embedders/open-embedder.ts';
import { type ChatModel, createChatModel, llmSchema } from '../../src/connectors/models/chat-model.ts';
import { createReranker, type Reranker } from '../../src/connectors/models/reranker.ts';
import { rerankerSchema, retrieverSchema } from '../../src/connectors/retrievers/config.ts';
import { createRetriever } from '../../src/connectors/retrievers/open-retriever.ts';
import type { Retriever, RetrieverParts } from '../../src/connectors/retrievers/retriever.ts';
import { vectorStoreSchema } from '../../src/connectors/stores/config.ts';
import { createVectorStore } from '../../src/connectors/stores/open-store.ts';
import type { VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { StoreAccess } from '../contract/vector-store-bench.ts';
import { silentLogger } from './log.ts';

export const never = new AbortController().signal;

export const storeField = 'pipelines[0].vector_store';

/** Returns the config keys for calls to a service: its address, short timeouts, and practically no rate limit. */
export function httpService(
  { url, timeoutMs = 2000, retries = 0 }: Partial<StoreAccess> & { readonly url: string },
  headers: Readonly<Record<string, string>> = {},
) {
  return { url, headers, timeout_ms: timeoutMs, retries, max_per_second: 100_000 };
}

export function openStore(config: z.input<typeof vectorStoreSchema>): VectorStore {
  return createVectorStore(vectorStoreSchema.parse(config), storeField);
}

export type RetrieverInput<Kind> = Extract<z.input<typeof retrieverSchema>, { kind: Kind }>;

export function openRetriever(config: z.input<typeof retrieverSchema>, parts: Partial<RetrieverParts> = {}): Retriever {
  const none = { embedder: null, store: null, logger: silentLogger, repeatsAnswers: true };
  return createRetriever(retrieverSchema.parse(config), { ...none, ...parts });
}

/**
 * A retriever for a service that receives the text and k and returns a list of results; the retriever does not retry.
 */
export function openHttpRetriever(
  url: string,
  changes: Partial<RetrieverInput<'http'>> = {},
  parts: Partial<RetrieverParts> = {},
): Retriever {
  return openRetriever({ kind: 'http', url, timeout_ms: 10_000, retries: 0, ...changes }, parts);
}

export function openEmbedder(config: z.input<typeof embedderSchema>): Embedder {
  return createEmbedder(embedderSchema.parse(config));
}

export function openReranker(config: z.input<typeof rerankerSchema>): Reranker {
  return createReranker(rerankerSchema.parse(config), 'retriever.reranker');
}

export function openChatModel(config: z.input<typeof llmSchema>): ChatModel {
  return createChatModel(llmSchema.parse(config));
}
