/** Creates the vector store for a config. To add a kind of store, add one line to `builders`. */
import { createChromaStore } from './chroma.ts';
import type { StoreConfigOf, VectorStoreConfig } from './config.ts';
import { createLanceDbStore } from './lancedb.ts';
import { createMilvusStore } from './milvus.ts';
import { createPgvectorStore } from './pgvector/store.ts';
import { createPineconeStore } from './pinecone.ts';
import { createQdrantStore } from './qdrant/store.ts';
import { createRedisSearchStore } from './redis/search.ts';
import { createRedisVectorSetStore } from './redis/vector-set.ts';
import { createSearchEngineStore } from './search-engine/store.ts';
import type { VectorStore } from './vector-store.ts';
import { createWeaviateStore } from './weaviate/store.ts';

type Kind = VectorStoreConfig['kind'];
type Build<K extends Kind> = (config: StoreConfigOf<K>, configField: string) => VectorStore;

const builders: { readonly [K in Kind]: Build<K> } = {
  pgvector: createPgvectorStore,
  qdrant: createQdrantStore,
  chroma: createChromaStore,
  elasticsearch: createSearchEngineStore,
  opensearch: createSearchEngineStore,
  weaviate: createWeaviateStore,
  milvus: createMilvusStore,
  pinecone: createPineconeStore,
  lancedb: (config, configField) => createLanceDbStore(config, configField),
  redis_vector_set: createRedisVectorSetStore,
  redis_search: createRedisSearchStore,
};

/**
 * Opens the store, which connects on the first call. `configField` is the path of the store's config section, such as
 * `pipelines[0].vector_store`.
 *
 * @throws RecalldError config_invalid for an invalid address, header or TLS file
 */
export function createVectorStore(config: VectorStoreConfig, configField: string): VectorStore {
  const build = builders[config.kind] as Build<Kind>;
  return build(config, configField);
}
