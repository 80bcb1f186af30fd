/** `pipelines[].retriever`: the monitored retriever, one schema per kind. */
import { z } from 'zod';
import {
  headersSchema,
  httpServiceShape,
  keySchema,
  programShape,
  proxySchema,
  retriesSchema,
  textSchema,
  timeoutSchema,
  tlsSchema,
  wholeIn,
} from '../../platform/config/connection.ts';
import { candidatesSchema, engineShape, hasContent, type VectorStoreConfig } from '../stores/config.ts';

const templatedBody = z.json().meta({ secret: 'body' });

const list = textSchema.describe('JMESPath expression for the list of documents, best first.');
const id = textSchema.describe('JMESPath expression for the document id in a list element.');
const score = textSchema
  .nullable()
  .describe('JMESPath expression for the score in a list element; null if the response contains no scores.');

const http = z.strictObject({
  kind: z.literal('http').describe('Any HTTP service, described by a request template and JMESPath expressions.'),
  url: textSchema
    .describe('URL to call. May contain the same placeholders as `body`; recalld percent-encodes their values.')
    .meta({ secret: 'url' }),
  method: z.enum(['GET', 'POST', 'PUT']).default('POST').describe('HTTP method.'),
  headers: headersSchema,
  body: templatedBody
    .optional()
    .describe(
      'JSON body with {{text}}, {{k}} and {{tags.NAME}}; a value that is a single placeholder keeps its type. Default: `{query: "{{text}}", k: "{{k}}"}`, or no body for GET.',
    ),
  results: z
    .strictObject({
      list: list.default('results'),
      id: id
        .nullable()
        .default('id')
        .describe(
          'JMESPath expression for the document id in a list element. If null, recalld derives ids from the texts.',
        ),
      score: score.default('score'),
      text: textSchema
        .optional()
        .describe('JMESPath expression for the text in a list element. Required for a reranker, and if `id` is null.'),
      stages: z
        .record(
          z.string().regex(/^(?!(?:answer|failed)$)[a-z][a-z0-9_]{0,31}$/, {
            error: 'must consist of lower-case letters, digits and _, and must not be `answer` or `failed`',
          }),
          z.strictObject({
            list,
            id: id.default('id'),
            score: score.default('score'),
            latency: textSchema
              .optional()
              .describe('JMESPath expression for the duration of the stage in the response, in milliseconds.'),
          }),
        )
        .default({})
        .describe(
          'Results of earlier stages, in stage order, under names such as `candidates`. Golden runs report how many relevant documents each stage loses, and `recalld explain` reports which stage lost a document.',
        ),
    })
    .prefault({})
    .describe('JMESPath expressions that locate the documents in the response.'),
  tls: tlsSchema,
  proxy: proxySchema,
  timeout_ms: timeoutSchema,
  retries: retriesSchema,
});

const filter = z
  .record(z.string(), z.string())
  .default({})
  .describe(
    'Field values that a result must have, such as `{course: "{{tags.course}}"}`. recalld ignores empty values.',
  );

const vectorStore = z.strictObject({
  kind: z
    .literal('vector_store')
    .describe("Embeds the text with the pipeline's embedder and searches its vector store."),
  filter,
  timeout_ms: timeoutSchema.describe('Timeout for embedding and search together.'),
});

/**
 * Elasticsearch and OpenSearch have the same settings; the adapter handles the differences in their query languages.
 */
const searchEngineShape = {
  ...engineShape,
  mode: z
    .enum(['bm25', 'knn', 'hybrid'])
    .default('bm25')
    .describe('`bm25` searches by keywords, `knn` by vectors, and `hybrid` by both with reciprocal rank fusion.'),
  fields: z.array(textSchema).min(1).default(['text']).describe('Fields for keyword search.'),
  query: templatedBody
    .optional()
    .describe(
      "Query in the search engine's query language, used instead of a match on `fields`. May contain {{text}} and {{tags.NAME}}.",
    ),
  embedding: textSchema.default('embedding').describe('Field that contains the vector.'),
  num_candidates: candidatesSchema
    .default(100)
    .describe(
      'Number of vector candidates per shard. In `hybrid` mode, also the number of results that each of the two searches contributes.',
    ),
  filter,
  id: textSchema.default('_id').describe('Field that contains the document id.'),
  content: textSchema.optional().describe('Field that contains the text; needed only for a reranker.'),
  rank_constant: z.int().min(1).default(60).describe('Rank constant of reciprocal rank fusion.'),
};

const elasticsearch = z.strictObject({
  kind: z.literal('elasticsearch').describe('Elasticsearch, queried directly.'),
  ...searchEngineShape,
});

const opensearch = z.strictObject({
  kind: z.literal('opensearch').describe('OpenSearch, queried directly.'),
  ...searchEngineShape,
});

const command = z.strictObject({
  kind: z
    .literal('command')
    .describe('Your own program, which reads one JSON line per query and writes one JSON line per response.'),
  ...programShape,
  timeout_ms: timeoutSchema.describe('Timeout for one response.'),
  start_timeout_ms: timeoutSchema
    .default(30_000)
    .describe('Timeout for the first response, including the start of the program.'),
});

const stages = [http, vectorStore, elasticsearch, opensearch, command] as const;

const rerankPath = z.string().startsWith('/').describe('Path of the endpoint; Jina requires /v1/rerank.');
const rerankerShape = { ...httpServiceShape, api_key: keySchema };

const teiReranker = z.strictObject({
  kind: z.literal('tei').describe('Text Embeddings Inference.'),
  ...rerankerShape,
  path: rerankPath.default('/rerank'),
});

const cohereReranker = z.strictObject({
  kind: z.literal('cohere').describe('Cohere, or a compatible service such as Jina or vLLM.'),
  ...rerankerShape,
  path: rerankPath.default('/v2/rerank'),
  model: textSchema.describe('Name of the model.'),
});

export const rerankerSchema = z.discriminatedUnion('kind', [teiReranker, cohereReranker]);

const rerank = z.strictObject({
  kind: z.literal('rerank').describe('Gets candidates from another retriever and orders them with a reranker.'),
  candidates: wholeIn(1, 1000).default(50).describe('Number of documents to request from the first stage.'),
  of: z.discriminatedUnion('kind', stages).describe('The first stage; its results must contain document texts.'),
  reranker: rerankerSchema.describe('The service that orders the candidates.'),
  timeout_ms: timeoutSchema.describe('Timeout for both stages together.'),
});

export const retrieverSchema = z.discriminatedUnion('kind', [...stages, rerank]);

export type RetrieverConfig = z.infer<typeof retrieverSchema>;

export type RetrieverConfigOf<Kind extends RetrieverConfig['kind']> = Extract<RetrieverConfig, { kind: Kind }>;

export type RerankerConfig = RetrieverConfigOf<'rerank'>['reranker'];

/** Returns which services of its pipeline a retriever requires: the vector store, the embedder, or both. */
export function partsNeededBy(retriever: RetrieverConfig): ('vector_store' | 'embedder')[] {
  switch (retriever.kind) {
    case 'rerank':
      return partsNeededBy(retriever.of);
    case 'vector_store':
      return ['vector_store', 'embedder'];
    case 'elasticsearch':
    case 'opensearch':
      return retriever.mode === 'bm25' ? [] : ['embedder'];
    case 'http':
    case 'command':
      return [];
  }
}

/**
 * Returns the path of the config field that must be set before `stage` returns the document texts that a reranker
 * needs; null if `stage` already returns the texts.
 */
export function textFieldMissingIn(stage: RetrieverConfig, store: VectorStoreConfig | undefined) {
  switch (stage.kind) {
    case 'http':
      return stage.results.text === undefined ? ['retriever', 'of', 'results', 'text'] : null;
    case 'elasticsearch':
    case 'opensearch':
      return stage.content === undefined ? ['retriever', 'of', 'content'] : null;
    case 'vector_store':
      return store === undefined || hasContent(store) ? null : ['vector_store', 'content'];
    case 'command':
    case 'rerank':
      return null;
  }
}
