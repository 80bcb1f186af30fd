/** One pipeline of recalld.yaml: what it is made of, how it is sampled, what is expected of it. */
import { z } from 'zod';
import { checkSchema } from './checks.ts';
import { cronSchema, timezoneSchema } from './cron.ts';
import { defaultCutoffs, refuseUnjudgeableChecks } from './judgeable-checks.ts';
import { feedbackPolicySchema, privacySchema, samplingSchema } from './live.ts';
import { refuseRepeats } from './repeats.ts';

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
  error: 'must be 1 to 100 of letters, digits, dot, dash and underscore',
});

const httpRetrieverSchema = z.strictObject({
  kind: z.literal('http').describe('Any HTTP service, by template and JMESPath.'),
  url: z
    .string()
    .min(1)
    .describe('Where to ask; may hold placeholders, percent-encoded for you.')
    .meta({ secret: 'url' }),
  method: z.enum(['GET', 'POST', 'PUT']).default('POST').describe('HTTP method.'),
  headers: z
    .record(z.string(), z.string().meta({ secret: 'all' }))
    .default({})
    .describe('Request headers; keep tokens in the environment as ${VAR}.'),
  body: z
    .json()
    .optional()
    .describe(
      'JSON body with {{text}}, {{k}} and {{tags.NAME}}; a value that is one placeholder keeps its type. Left out, it is {query: "{{text}}", k: "{{k}}"}, and none for GET.',
    )
    .meta({ secret: 'body' }),
  results: z
    .strictObject({
      list: z.string().min(1).default('results').describe('JMESPath to the ranked list, best first.'),
      id: z.string().min(1).default('id').describe('JMESPath to the document id, from one element.'),
      score: z
        .string()
        .min(1)
        .nullable()
        .default('score')
        .describe('JMESPath to the score, from one element; null if there is none.'),
    })
    .prefault({}),
  timeout_ms: z.int().min(1).max(600_000).default(2000).describe('Longest that one attempt may take.'),
  retries: z
    .int()
    .min(0)
    .max(10)
    .default(2)
    .describe('Further attempts after a connection error, 429 or 5xx.'),
});

const goldenSchema = z.strictObject({
  set: name.describe('Name that the golden set was imported under.'),
  cron: cronSchema.optional().describe('When to rerun it; left out, it runs only by hand.'),
  timezone: timezoneSchema.default('UTC').describe('Time zone of `cron`.'),
  sentinel: z
    .strictObject({
      cron: cronSchema.describe('When to rerun the sentinel.'),
      queries: z.int().min(1).default(50).describe('Size of the sentinel.'),
    })
    .optional()
    .describe('A small subset rerun often.')
    .meta({ inactive: true }),
  cutoffs: z
    .array(z.int().min(1).max(1000))
    .min(1)
    .default([...defaultCutoffs])
    .describe('Cut-offs k of every measure; the retriever is asked for the largest.'),
  relevance_level: z
    .int()
    .min(1)
    .default(1)
    .describe('Least grade that counts as relevant; never touches nDCG.'),
  concurrency: z.int().min(1).max(256).default(4).describe('Most queries in flight to the retriever.'),
  max_per_second: z
    .number()
    .positive()
    .max(100_000)
    .default(20)
    .describe('Most queries a second to the retriever.'),
  on_error: z
    .enum(['score_zero', 'void'])
    .default('score_zero')
    .describe('A failed query scores 0; or the run is void when more than `error_budget` of them fail.'),
  error_budget: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('Share of failed queries that `void` puts up with.'),
});

export const pipelineSchema = z
  .strictObject({
    name: name.describe('Label of every metric of this pipeline.'),
    retriever: httpRetrieverSchema,
    vector_store: z
      .strictObject({
        kind: z.enum(['pgvector']).describe('Kind of store.'),
        url: z.string().min(1).describe('Where the store is.').meta({ secret: 'url' }),
        table: z.string().min(1).describe('Table of the chunks.'),
        id: z.string().min(1).default('id').describe('Column of the document id.'),
        embedding: z.string().min(1).default('embedding').describe('Column of the vector.'),
        metric: z.enum(['cosine', 'l2', 'dot']).default('cosine').describe('Distance of the index.'),
      })
      .optional()
      .describe('The store behind the retriever.')
      .meta({ inactive: true }),
    embedder: z
      .strictObject({
        kind: z.enum(['openai']).describe('Kind of API.'),
        base_url: z.string().min(1).describe('Where the API is.').meta({ secret: 'url' }),
        model: z.string().min(1).describe('Name of the model.'),
        api_key: z
          .string()
          .min(1)
          .describe('Key of the API; keep it in the environment as ${VAR}.')
          .meta({ secret: 'all' })
          .optional(),
      })
      .optional()
      .describe('Turns text into vectors.')
      .meta({ inactive: true }),
    embedding_dimensions: z
      .int()
      .min(1)
      .max(16_384)
      .nullable()
      .default(null)
      .describe('Length of the vectors of live queries; null learns it from the first one.'),
    sampling: samplingSchema,
    service_names: z
      .array(z.string().min(1).max(256))
      .max(100)
      .default([])
      .describe('Values of `service.name` whose OpenTelemetry spans belong to this pipeline.'),
    segments: z
      .strictObject({
        keys: z
          .array(z.string().min(1).max(64))
          .default([])
          .superRefine(refuseRepeats)
          .describe('Tags whose values are measured apart.'),
        max: z
          .int()
          .min(1)
          .max(1000)
          .default(50)
          .describe('Most segments; the largest are kept, the rest are one, `other`.'),
      })
      .prefault({}),
    privacy: privacySchema,
    feedback: feedbackPolicySchema,
    density: z
      .strictObject({
        k: z.int().min(1).default(5).describe('Nearest chunks that the density of a query is taken from.'),
        window: z.string().min(1).default('1h').describe('Length of the current window.'),
        false_pages: z.string().min(1).default('1 per 365d').describe('False alarms to put up with.'),
      })
      .optional()
      .describe('How query density is watched.')
      .meta({ inactive: true }),
    golden: z
      .array(goldenSchema)
      .default([])
      .superRefine((list, context) =>
        refuseRepeats(
          list.map(({ set }) => set),
          context,
          'set',
        ),
      )
      .describe('Golden sets that are rerun against the retriever.'),
    checks: z.array(checkSchema).default([]).describe('What is expected of the measures.'),
  })
  .superRefine(refuseUnjudgeableChecks);
