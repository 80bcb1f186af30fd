/** `pipelines[].vector_store`: the vector store of a pipeline, one schema per kind. */
import { z } from 'zod';
import { httpServiceShape, keySchema, textSchema, timeoutSchema, wholeIn } from '../../platform/config/connection.ts';

const version = textSchema
  .optional()
  .describe("Field that contains the version, hash or time of a chunk's document, if the store has such a field.");

/** Optional fields of a chunk. */
const chunkShape = {
  content: textSchema.optional().describe('Field that contains the text of a chunk, if the store has such a field.'),
  version,
};

const id = textSchema.describe('Field that contains the document id.');

const optionalId = (fallback: string) =>
  textSchema.optional().describe(`Field that contains the document id. Default: ${fallback}.`);

const embedding = textSchema.describe('Field that contains the vector.');

const metric = z.enum(['cosine', 'l2', 'dot']).default('cosine');

const collection = textSchema.describe('Collection that contains the chunks.');

const vectorName = (fallback: string) =>
  textSchema.optional().describe(`Name of the vector, if the collection has named vectors. Default: ${fallback}.`);

const keyedServiceShape = { ...httpServiceShape, api_key: keySchema };

/** Number of candidates of a vector search in a search engine. */
export const candidatesSchema = wholeIn(1, 10_000);

/** Config fields for a search engine and one of its indexes. */
export const engineShape = {
  ...httpServiceShape,
  username: textSchema.optional().describe('User name for basic authentication.'),
  password: keySchema.describe('Password for basic authentication.'),
  api_key: keySchema,
  index: textSchema.describe('Index or alias to search.'),
};

const pgvector = z.strictObject({
  kind: z.literal('pgvector').describe('PostgreSQL with pgvector.'),
  url: textSchema.describe('postgres:// URL of the database.').meta({ secret: 'url' }),
  table: textSchema.describe('Table that contains the chunks; the name may include the schema, as in `rag.chunks`.'),
  id: id.default('id'),
  embedding: embedding.default('embedding'),
  ...chunkShape,
  metric: metric.describe('Distance metric of the index.'),
  timeout_ms: timeoutSchema,
});

const qdrant = z.strictObject({
  kind: z.literal('qdrant').describe('Qdrant.'),
  ...keyedServiceShape,
  collection,
  vector_name: vectorName('the unnamed vector'),
  id: optionalId('the point id'),
  ...chunkShape,
});

const chroma = z.strictObject({
  kind: z.literal('chroma').describe('Chroma.'),
  ...keyedServiceShape,
  tenant: textSchema.default('default_tenant').describe('Tenant to which the collection belongs.'),
  database: textSchema.default('default_database').describe('Database that contains the collection.'),
  collection,
  id: optionalId('the record id'),
  version,
});

const searchEngineShape = {
  ...engineShape,
  embedding: embedding.default('embedding'),
  id: id.default('_id'),
  ...chunkShape,
};

const elasticsearch = z.strictObject({
  kind: z.literal('elasticsearch').describe('Elasticsearch.'),
  ...searchEngineShape,
  num_candidates: candidatesSchema
    .optional()
    .describe(
      'Number of candidates per shard; set the value that your service uses. Default: twice k, but at least 100.',
    ),
});

const opensearch = z.strictObject({
  kind: z.literal('opensearch').describe('OpenSearch.'),
  ...searchEngineShape,
});

const weaviate = z.strictObject({
  kind: z.literal('weaviate').describe('Weaviate.'),
  ...keyedServiceShape,
  collection,
  tenant: textSchema.optional().describe('Tenant in a multi-tenant collection.'),
  vector_name: vectorName('the only vector'),
  id: optionalId('the object UUID'),
  ...chunkShape,
});

const milvus = z.strictObject({
  kind: z.literal('milvus').describe('Milvus or Zilliz Cloud.'),
  ...httpServiceShape,
  token: keySchema.describe('Token: an API key, or `user:password`.'),
  database: textSchema.optional().describe('Database that contains the collection. Default: the default database.'),
  collection,
  embedding: embedding.default('embedding'),
  id: id.default('id'),
  ...chunkShape,
});

const pinecone = z.strictObject({
  kind: z.literal('pinecone').describe('Pinecone.'),
  ...httpServiceShape,
  url: httpServiceShape.url.describe('URL of the index: `https://NAME-PROJECT.svc.REGION.pinecone.io`.'),
  api_key: keySchema,
  namespace: z.string().default('').describe('Namespace that contains the chunks.'),
  id: optionalId('the vector id'),
  ...chunkShape,
});

const redisShape = {
  url: z
    .string()
    .regex(/^rediss?:\/\//, { error: 'must be a redis:// or rediss:// URL' })
    .describe('URL of Redis.')
    .meta({ secret: 'url' }),
  timeout_ms: timeoutSchema,
};

const redisVectorSet = z.strictObject({
  kind: z.literal('redis_vector_set').describe('A Redis 8 vector set.'),
  ...redisShape,
  key: textSchema.describe('Key of the vector set.'),
  ...chunkShape,
});

const redisSearch = z.strictObject({
  kind: z.literal('redis_search').describe('A Redis query engine index.'),
  ...redisShape,
  index: textSchema.describe('Index to search.'),
  embedding: embedding.default('embedding'),
  id: optionalId('the key without its prefix'),
  ...chunkShape,
});

const lancedb = z.strictObject({
  kind: z
    .literal('lancedb')
    .describe('LanceDB, which runs in the recalld process; install its npm package next to recalld.'),
  uri: textSchema.describe('Folder of the database, or its s3://, gs:// or az:// URL.'),
  storage_options: z
    .record(z.string(), z.string())
    .default({})
    .describe('Credentials and settings for the object store, such as `aws_region`.')
    .meta({ secret: 'all' }),
  table: textSchema.describe('Table that contains the chunks.'),
  id: id.default('id'),
  embedding: embedding.default('vector'),
  ...chunkShape,
  metric: metric.describe(
    'Distance metric that your service uses in its queries. If the column has an index, recalld uses the metric of the index.',
  ),
  timeout_ms: timeoutSchema,
});

export const vectorStoreSchema = z.discriminatedUnion('kind', [
  pgvector,
  qdrant,
  chroma,
  elasticsearch,
  opensearch,
  weaviate,
  milvus,
  pinecone,
  redisVectorSet,
  redisSearch,
  lancedb,
]);

export type VectorStoreConfig = z.infer<typeof vectorStoreSchema>;

/** True if the store returns the texts of chunks. Chroma stores them separately, so its config names no text field. */
export function hasContent(store: VectorStoreConfig): boolean {
  return store.kind === 'chroma' || store.content !== undefined;
}

export type StoreConfigOf<Kind extends VectorStoreConfig['kind']> = Extract<VectorStoreConfig, { kind: Kind }>;
