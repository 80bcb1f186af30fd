/** Creates the retriever for a config. To add a kind of retriever, add one line to `builders`. */
import { createReranker } from '../models/reranker.ts';
import { createCommandRetriever } from './command.ts';
import type { RetrieverConfig, RetrieverConfigOf } from './config.ts';
import { createHttpRetriever } from './http.ts';
import { createRerankRetriever } from './rerank.ts';
import type { Retriever, RetrieverParts } from './retriever.ts';
import { createSearchEngineRetriever } from './search-engine.ts';
import { createVectorStoreRetriever } from './vector-store.ts';

type Kind = RetrieverConfig['kind'];
type Build<K extends Kind> = (config: RetrieverConfigOf<K>, parts: RetrieverParts, field: string) => Retriever;

const builders: { readonly [K in Kind]: Build<K> } = {
  http: (config, { repeatsAnswers }, field) => createHttpRetriever(config, repeatsAnswers, field),
  vector_store: createVectorStoreRetriever,
  elasticsearch: createSearchEngineRetriever,
  opensearch: createSearchEngineRetriever,
  command: (config, parts) => createCommandRetriever(config, parts),
  rerank: (config, parts, field) =>
    createRerankRetriever(
      createRetriever(config.of, parts, `${field}.of`),
      createReranker(config.reranker, `${field}.reranker`),
      config.candidates,
      config.timeout_ms,
    ),
};

/**
 * @param field path of its config section
 * @throws RecalldError config_invalid for an invalid template, expression, address or file
 */
export function createRetriever(config: RetrieverConfig, parts: RetrieverParts, field = 'retriever'): Retriever {
  const build = builders[config.kind] as Build<Kind>;
  return build(config, parts, field);
}
