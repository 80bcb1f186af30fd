/** Config -> the vector store of a pipeline. A new kind of store is one line of `builders`. */
import {
  basic,
  bearer,
  createServiceSettings,
  type HttpServiceConfig,
  type JsonApiSettings,
  keyHeader,
  loginKey,
} from '../outbound/json-api.ts';
import { createChromaStore } from './chroma.ts';
import type { VectorStoreConfig } from './config.ts';
import { createLanceDbStore } from './lancedb.ts';
import { createMilvusStore } from './milvus.ts';
import { createPgvectorStore } from './pgvector/store.ts';
import { createPineconeStore } from './pinecone.ts';
import { createQdrantStore } from './qdrant.ts';
import { createRedisSearchStore } from './redis/search.ts';
import { createRedisVectorSetStore } from './redis/vector-set.ts';
import { createElasticsearchStore, createOpenSearchStore } from './search-engine/dialects.ts';
import type { VectorStore } from './vector-store.ts';
import { createWeaviateStore } from './weaviate/store.ts';

type Kind = VectorStoreConfig['kind'];
type ConfigOf<K extends Kind> = K extends Kind ? Extract<VectorStoreConfig, { readonly kind: K }> : never;
type Build<K extends Kind> = (config: ConfigOf<K>, configField: string) => VectorStore;

const builders: { readonly [K in Kind]: Build<K> } = {
  pgvector: ({ timeout_ms: timeoutMs, content = null, version = null, ...config }, configField) =>
    createPgvectorStore({ ...config, content, version, timeoutMs, configField }),
  qdrant: (
    { collection, vector_name: vectorName, id: idKey, content: contentKey, version, ...config },
    configField,
  ) => {
    const api = settingsOf('Qdrant', config, configField, keyHeader('api-key', config.api_key));
    return createQdrantStore({ api, collection, vectorName, idKey, contentKey, versionKey: version });
  },
  chroma: ({ tenant, database, collection, id: idKey, version: versionKey, ...config }, configField) => {
    const api = settingsOf('Chroma', config, configField, keyHeader('x-chroma-token', config.api_key));
    return createChromaStore({ api, tenant, database, collection, idKey, versionKey });
  },
  elasticsearch: (
    { index, embedding, id, content, version, num_candidates: numCandidates, ...config },
    configField,
  ) => {
    const api = settingsOf('Elasticsearch', config, configField, searchEngineLogin(config), loginKey(config));
    return createElasticsearchStore({ api, index, embedding, id, content, version, numCandidates });
  },
  opensearch: ({ index, embedding, id, content, version, ...config }, configField) => {
    const api = settingsOf('OpenSearch', config, configField, searchEngineLogin(config), loginKey(config));
    return createOpenSearchStore({ api, index, embedding, id, content, version });
  },
  weaviate: ({ collection, tenant, vector_name: vectorName, id, content, version, ...config }, configField) => {
    const api = settingsOf('Weaviate', config, configField, bearer(config.api_key));
    return createWeaviateStore({ api, collection, tenant, vectorName, id, content, version });
  },
  milvus: ({ database, collection, embedding, id, content, version, ...config }, configField) => {
    const api = settingsOf('Milvus', config, configField, bearer(config.token), 'token');
    return createMilvusStore({ api, database, collection, embedding, id, content, version });
  },
  pinecone: ({ namespace, id: idKey, content: contentKey, version: versionKey, ...config }, configField) => {
    const api = settingsOf('Pinecone', config, configField, keyHeader('api-key', config.api_key));
    return createPineconeStore({ api, namespace, idKey, contentKey, versionKey });
  },
  lancedb: (
    { storage_options: storageOptions, timeout_ms: timeoutMs, content = null, version = null, ...config },
    configField,
  ) => createLanceDbStore({ ...config, storageOptions, content, version, timeoutMs, configField }),
  redis_vector_set: ({ url, timeout_ms: timeoutMs, key, content, version }, configField) =>
    createRedisVectorSetStore({ redis: { url, timeoutMs, configField }, key, content, version }),
  redis_search: ({ url, timeout_ms: timeoutMs, index, embedding, id, content, version }, configField) =>
    createRedisSearchStore({ redis: { url, timeoutMs, configField }, index, embedding, id, content, version }),
};

/**
 * Opens the store; connections are made when it is first asked. `configField` is where the config describes it:
 * `pipelines[0].vector_store`.
 *
 * @throws RecalldError config_invalid for an address, a header or a TLS file that cannot be used
 */
export function createVectorStore(config: VectorStoreConfig, configField: string): VectorStore {
  const build = builders[config.kind] as Build<Kind>;
  return build(config, configField);
}

/** An API key, or user and password. */
function searchEngineLogin({
  api_key: key,
  username,
  password,
}: Pick<ConfigOf<'opensearch'>, 'api_key' | 'username' | 'password'>): Readonly<Record<string, string>> {
  return key === undefined ? basic(username, password) : { authorization: `ApiKey ${key}` };
}

function settingsOf(
  service: string,
  config: HttpServiceConfig,
  configField: string,
  credentials: Readonly<Record<string, string>>,
  credentialsKey = 'api_key',
): JsonApiSettings {
  return createServiceSettings(config, { service, configField, credentials, credentialsKey });
}
