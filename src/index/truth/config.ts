import { z } from 'zod';
import { httpServiceShape, programShape } from '../../platform/config/connection.ts';
import { cronSchema, durationSchema } from '../../platform/config/times.ts';

const readTimeout = z
  .int()
  .min(1000)
  .max(3_600_000)
  .default(600_000)
  .describe('Timeout for reading the whole manifest, in milliseconds.');

const file = z.strictObject({
  kind: z.literal('file').describe('A JSON Lines file.'),
  path: z.string().min(1).describe('Path of the file.'),
});

const command = z.strictObject({
  kind: z.literal('command').describe('A program that prints JSON Lines and exits with code 0.'),
  ...programShape,
  timeout_ms: readTimeout,
});

const http = z.strictObject({
  kind: z.literal('http').describe('An endpoint that returns `{"items": [...], "next_cursor": "..." or null}`.'),
  ...httpServiceShape,
  timeout_ms: httpServiceShape.timeout_ms.default(30_000),
});

const sql = z.strictObject({
  kind: z.literal('sql').describe('A PostgreSQL query.'),
  url: z.string().min(1).describe('postgres:// URL of the database.').meta({ secret: 'url' }),
  query: z
    .string()
    .min(1)
    .describe('Query that returns the column id and, optionally, updated_at, hash, deleted, chunks and segment.'),
  timeout_ms: readTimeout,
});

export const manifestSchema = z
  .discriminatedUnion('kind', [file, command, http, sql])
  .describe(
    'The documents that should be in the store, one per line: `{"id", "updated_at"?, "hash"?, "deleted"?, "chunks"?, "segment"?}`.',
  );

export type ManifestConfig = z.infer<typeof manifestSchema>;

export const indexSchema = z
  .strictObject({
    manifest: manifestSchema,
    cron: cronSchema.default('*/15 * * * *').describe('Schedule of the index checks, in UTC.'),
    probe: z
      .int()
      .min(20)
      .max(10_000)
      .default(200)
      .describe(
        'Number of random documents to check per round. If the store can list its ids, recalld checks all documents instead.',
      ),
    late_after: durationSchema('1m', '30d')
      .default('1h')
      .describe(
        'Maximum time for a document change to reach the store. After this time, a new document that is absent counts as missing, and a deleted document that is present counts as orphaned.',
      ),
    calls_per_second: z.number().positive().max(1000).default(10).describe('Maximum number of store calls per second.'),
    retrieve: z
      .int()
      .min(0)
      .max(1000)
      .default(20)
      .describe(
        'Number of documents per round for which recalld sends the beginning of the text as a query. The retriever must return the document. 0 disables this check.',
      ),
    embed: z
      .int()
      .min(0)
      .max(1000)
      .default(8)
      .describe(
        'Number of stored chunks to embed again per hour, to detect vectors from another model. After recalld finds such a vector, it embeds five times as many chunks. 0 disables this check.',
      ),
    embed_prefix: z
      .string()
      .max(200)
      .default('')
      .describe('Prefix that your indexing job adds to a text before embedding it, such as "passage: ".'),
    min_cosine: z
      .number()
      .min(0)
      .max(1)
      .default(0.98)
      .describe(
        'Minimum cosine between a stored vector and a new embedding of its text. Below this value, the stored vector counts as a vector from another model.',
      ),
  })
  .describe(
    'Index truth: compares the store with a manifest of the documents that should be in it (docs/explanation/index-truth.md). Without this section, recalld does not check the index.',
  );

export function refuseIndexWithoutStore(
  { index, vector_store: store }: { readonly index?: unknown; readonly vector_store?: unknown },
  context: z.core.$RefinementCtx,
): void {
  // Another issue, such as a misspelled key in `vector_store`, may be the reason why `vector_store` is undefined.
  if (index === undefined || store !== undefined || context.issues.length > 0) return;
  context.addIssue({ code: 'custom', path: ['index'], message: 'requires a vector_store to check' });
}
