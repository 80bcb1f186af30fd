/** `pipelines[].vector_store`: the vector store of a pipeline, one schema per kind. */
import { z } from 'zod';
import { httpServiceShape, keySchema, textSchema, timeoutSchema } from '../../platform/config/connection.ts';

const content = textSchema
  .optional()
  .describe('Field that contains the text of a chunk, if the store has such a field.');

const version = textSchema
  .optional()
  .describe("Field that contains the version, hash or time of a chunk's document, if the store has such a field.");

const id = textSchema.describe('Field that contains the document id.');

const optionalId = (fallback: string) =>
  textSchema.optional().describe(`Field that contains the document id. Default: ${fallback}.`);

const embedding = textSchema.describe('Field that contains the vector.');

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
  content,
  version,
  metric: z.enum(['cosine', 'l2', 'dot']).default('cosine').describe('Distance metric of the index.'),
  timeout_ms: timeoutSchema,
});

const qdrant = z.strictObject({
  kind: z.literal('qdrant').describe('Qdrant.'),
  ...httpServiceShape,
  api_key: keySchema,
  collection: textSchema.describe('Collection that contains the chunks.'),
  vector_name: textSchema
    .optional()
    .describe('Name of the vector, if the collection has named vectors. Default: the unnamed vector.'),
  id: optionalId('the point id'),
  content,
  version,
});

const chroma = z.strictObject({
  kind: z.literal('chroma').describe('Chroma.'),
  ...httpServiceShape,
  api_key: keySchema,
  tenant: textSchema.default('default_tenant').describe('Tenant to which the collection belongs.'),
  database: textSchema.default('default_database').describe('Database that contains the collection.'),
  collection: textSchema.describe('Collection that contains the chunks.'),
  id: optionalId('the record id'),
  version,
});

const searchEngineShape = {
  ...engineShape,
  embedding: embedding.default('embedding'),
  id: id.default('_id'),
  content,
  version,
};

const elasticsearch = z.strictObject({
  kind: z.literal('elasticsearch').describe('Elasticsearch.'),
  ...searchEngineShape,
  num_candidates: z
    .int()
    .min(1)
    .max(10_000)
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
  ...httpServiceShape,
  api_key: keySchema,
  collection: textSchema.describe('Collection that contains the chunks.'),
  tenant: textSchema.optional().describe('Tenant in a multi-tenant collection.'),
  vector_name: textSchema
    .optional()
    .describe('Name of the vector, if the collection has named vectors. Default: the only vector.'),
  id: optionalId('the object UUID'),
  content,
  version,
});

const milvus = z.strictObject({
  kind: z.literal('milvus').describe('Milvus or Zilliz Cloud.'),
  ...httpServiceShape,
  token: keySchema.describe('Token: an API key, or `user:password`.'),
  database: textSchema.optional().describe('Database that contains the collection. Default: the default database.'),
  collection: textSchema.describe('Collection that contains the chunks.'),
  embedding: embedding.default('embedding'),
  id: id.default('id'),
  content,
  version,
});

const pinecone = z.strictObject({
  kind: z.literal('pinecone').describe('Pinecone.'),
  ...httpServiceShape,
  url: httpServiceShape.url.describe('URL of the index: `https://NAME-PROJECT.svc.REGION.pinecone.io`.'),
  api_key: keySchema,
  namespace: z.string().default('').describe('Namespace that contains the chunks.'),
  id: optionalId('the vector id'),
  content,
  version,
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
  content,
  version,
});

const redisSearch = z.strictObject({
  kind: z.literal('redis_search').describe('A Redis query engine index.'),
  ...redisShape,
  index: textSchema.describe('Index to search.'),
  embedding: embedding.default('embedding'),
  id: optionalId('the key without prefix'),
  content,
  version,
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
  content,
  version,
  metric: z
    .enum(['cosine', 'l2', 'dot'])
    .default('cosine')
    .describe(
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

export type StoreConfigOf<Kind extends VectorStoreConfig['kind']> = Extract<VectorStoreConfig, { kind: Kind }>;
