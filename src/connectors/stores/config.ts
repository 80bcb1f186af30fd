/** `pipelines[].vector_store`: the vector store of a pipeline, one schema per kind. */
import { z } from 'zod';
import { httpServiceShape, keySchema, textSchema, timeoutSchema } from '../../platform/config/connection.ts';

const content = textSchema.optional().describe("Field that contains a chunk's text, if it is stored.");

const version = textSchema
  .optional()
  .describe("Field that contains the version, hash or time of a chunk's document, if it is stored.");

/** Config fields for a search engine and one of its indexes. */
export const engineShape = {
  ...httpServiceShape,
  username: textSchema.optional().describe('User name for basic authentication.'),
  password: keySchema.describe('Password for basic authentication; keep it in the environment as ${VAR}.'),
  api_key: keySchema,
  index: textSchema.describe('Index or alias.'),
};

const pgvector = z.strictObject({
  kind: z.literal('pgvector').describe('PostgreSQL with pgvector.'),
  url: textSchema.describe('postgres:// address.').meta({ secret: 'url' }),
  table: textSchema.describe('Table that contains the chunks; the name may include the schema, as in `rag.chunks`.'),
  id: textSchema.default('id').describe('Column that contains the document id.'),
  embedding: textSchema.default('embedding').describe('Column that contains the vector.'),
  content: content.describe("Column that contains a chunk's text, if it is stored."),
  version: version.describe("Column that contains the version, hash or time of a chunk's document."),
  metric: z.enum(['cosine', 'l2', 'dot']).default('cosine').describe('Distance metric of the index.'),
  timeout_ms: timeoutSchema,
});

const qdrant = z.strictObject({
  kind: z.literal('qdrant').describe('Qdrant.'),
  ...httpServiceShape,
  api_key: keySchema,
  collection: textSchema.describe('Collection that contains the chunks.'),
  vector_name: textSchema.optional().describe('Named vector; default: the unnamed vector.'),
  id: textSchema.optional().describe('Payload key that contains the document id; default: the point id.'),
  content,
  version,
});

const chroma = z.strictObject({
  kind: z.literal('chroma').describe('Chroma.'),
  ...httpServiceShape,
  api_key: keySchema,
  tenant: textSchema.default('default_tenant').describe('Tenant.'),
  database: textSchema.default('default_database').describe('Database.'),
  collection: textSchema.describe('Name of the collection.'),
  id: textSchema.optional().describe('Metadata key that contains the document id; default: the record id.'),
  version,
});

const searchEngineShape = {
  ...engineShape,
  embedding: textSchema.default('embedding').describe('Field that contains the vector.'),
  id: textSchema.default('_id').describe('Field that contains the document id.'),
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
      'Number of candidates per shard in a search; use the same value as in your service. Default: twice k, but at least 100.',
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
  vector_name: textSchema.optional().describe('Named vector; default: the only vector.'),
  id: textSchema.optional().describe('Property that contains the document id; default: the UUID of the object.'),
  content,
  version,
});

const milvus = z.strictObject({
  kind: z.literal('milvus').describe('Milvus or Zilliz Cloud.'),
  ...httpServiceShape,
  token: keySchema,
  database: textSchema.optional().describe('Database; default: the default database.'),
  collection: textSchema.describe('Collection that contains the chunks.'),
  embedding: textSchema.default('embedding').describe('Field that contains the vector.'),
  id: textSchema.default('id').describe('Field that contains the document id.'),
  content,
  version,
});

const pinecone = z.strictObject({
  kind: z.literal('pinecone').describe('Pinecone.'),
  ...httpServiceShape,
  url: httpServiceShape.url.describe('Host of the index, `https://NAME-PROJECT.svc.REGION.pinecone.io`.'),
  api_key: keySchema,
  namespace: z.string().default('').describe('Namespace.'),
  id: textSchema.optional().describe('Metadata key that contains the document id; default: the vector id.'),
  content: content.describe("Metadata key that contains a chunk's text, if it is stored."),
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
  content: content.describe("Attribute that contains a chunk's text, if it is stored."),
  version,
});

const redisSearch = z.strictObject({
  kind: z.literal('redis_search').describe('A Redis query engine index.'),
  ...redisShape,
  index: textSchema.describe('Name of the index.'),
  embedding: textSchema.default('embedding').describe('Field that contains the vector.'),
  id: textSchema.optional().describe('Field that contains the document id; default: the key without the prefix.'),
  content,
  version,
});

const lancedb = z.strictObject({
  kind: z
    .literal('lancedb')
    .describe('LanceDB, which runs in the recalld process; install its npm package next to recalld.'),
  uri: textSchema.describe('Folder of the database, or the s3://, gs:// or az:// address of a bucket.'),
  storage_options: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Credentials and settings for the object store, such as `aws_region`; keep credentials in the environment as ${VAR}.',
    )
    .meta({ secret: 'all' }),
  table: textSchema.describe('Table that contains the chunks.'),
  id: textSchema.default('id').describe('Column that contains the document id.'),
  embedding: textSchema.default('vector').describe('Column that contains the vector.'),
  content: content.describe("Column that contains a chunk's text, if it is stored."),
  version: version.describe("Column that contains the version, hash or time of a chunk's document."),
  metric: z
    .enum(['cosine', 'l2', 'dot'])
    .default('cosine')
    .describe('Distance metric that your own queries use, if the column has no index that defines it.'),
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
