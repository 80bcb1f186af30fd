/** `pipelines[].index`: what the store should hold, and how often and how closely that is looked at. */
import { z } from 'zod';
import { httpServiceShape, programShape } from '../../platform/config/connection.ts';
import { cronSchema, durationSchema } from '../../platform/config/times.ts';

const readTimeout = z
  .int()
  .min(1000)
  .max(3_600_000)
  .default(600_000)
  .describe('Longest that reading the whole manifest may take.');

const file = z.strictObject({
  kind: z.literal('file').describe('A file of JSON lines.'),
  path: z.string().min(1).describe('Path of the file.'),
});

const command = z.strictObject({
  kind: z.literal('command').describe('A program of yours that prints JSON lines and ends with code 0.'),
  ...programShape,
  timeout_ms: readTimeout,
});

const http = z.strictObject({
  kind: z.literal('http').describe('An endpoint that answers `{"items": [...], "next_cursor": "..." or null}`.'),
  ...httpServiceShape,
  timeout_ms: httpServiceShape.timeout_ms.default(30_000),
});

const sql = z.strictObject({
  kind: z.literal('sql').describe('A query to PostgreSQL.'),
  url: z.string().min(1).describe('postgres:// address.').meta({ secret: 'url' }),
  query: z
    .string()
    .min(1)
    .describe('Query with the columns id, and where known updated_at, hash, deleted, chunks and segment.'),
  timeout_ms: readTimeout,
});

export const manifestSchema = z
  .discriminatedUnion('kind', [file, command, http, sql])
  .describe(
    'What the store should hold: a document each, `{"id", "updated_at"?, "hash"?, "deleted"?, "chunks"?, "segment"?}`.',
  );

export type ManifestConfig = z.infer<typeof manifestSchema>;

export const indexSchema = z
  .strictObject({
    manifest: manifestSchema,
    cron: cronSchema.default('*/15 * * * *').describe('When to look (UTC).'),
    probe: z
      .int()
      .min(20)
      .max(10_000)
      .default(200)
      .describe('Documents that are looked up a time, at random; all of them where the store lists its ids.'),
    late_after: durationSchema('1m', '30d')
      .default('1h')
      .describe('How long a change of a document may take to arrive before it counts as missing or left behind.'),
    calls_per_second: z.number().positive().max(1000).default(10).describe('Most calls a second to the store.'),
    retrieve: z
      .int()
      .min(0)
      .max(1000)
      .default(20)
      .describe('Documents a time that the retriever is asked for by the start of their own text; 0: none.'),
    embed: z
      .int()
      .min(0)
      .max(1000)
      .default(8)
      .describe(
        'Stored chunks an hour that are embedded again, to see whether another model made their vectors, and five times as many once it made one; 0: none.',
      ),
    embed_prefix: z
      .string()
      .max(200)
      .default('')
      .describe('What your ingestion puts before a text that it embeds, such as "passage: ".'),
    least_cosine: z
      .number()
      .min(0)
      .max(1)
      .default(0.98)
      .describe('Cosine of a stored vector to that of its text embedded again, below which another model made it.'),
  })
  .describe(
    'Index truth: what the store holds against what it should hold; left out, nobody looks (docs/explanation/index-truth.md).',
  );

interface IndexedPipeline {
  readonly index?: z.infer<typeof indexSchema> | undefined;
  readonly vector_store?: unknown;
}

/** Nobody can look into a store that the config does not name. */
export function refuseIndexWithoutStore(
  { index, vector_store: store }: IndexedPipeline,
  context: z.core.$RefinementCtx,
): void {
  // A misspelt key of the store is one problem, not two.
  if (index === undefined || store !== undefined || context.issues.length > 0) return;
  context.addIssue({ code: 'custom', path: ['index'], message: 'needs a vector_store, which is looked into' });
}
