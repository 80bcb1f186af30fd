/** `/v1/golden-sets`: versions of golden sets, with their queries and judgments. */
import { z } from 'zod';
import { nameSchema } from '../../config/name.ts';
import { wireSchema } from '../../http/fields.ts';
import { nextCursor, numberedPageShape } from '../../http/paging.ts';
import type { GoldenQuery } from '../../model.ts';
import { goldenLineSchema } from './golden-files.ts';

/** Most queries of one upload. */
const MOST_QUERIES = 100_000;

export const goldenSetVersionSchema = z.object({
  golden_set: z.string(),
  version: z.int(),
  format: z
    .string()
    .describe('What it was imported from: beir, trec, csv or jsonl; json came over this API.'),
  content_hash: z.string(),
  imported_at: z.iso.datetime(),
  query_count: z.int(),
  judgment_count: z.int(),
  origin: z.string().describe('Where its judgments come from, such as people or a model.'),
  note: z.string().nullable(),
});

export const goldenQuerySchema = z.object({
  id: z.string(),
  text: z.string(),
  tags: z.record(z.string(), z.string()),
  judgments: z.array(z.object({ document_id: z.string(), grade: z.int() })),
});

export const goldenSetListQuery = z.strictObject(numberedPageShape);

export const goldenSetParams = z.strictObject({ name: nameSchema });

export const goldenSetQuery = z.strictObject({
  version: z.coerce.number().int().min(1).max(2_147_483_647).optional().describe('Left out, the latest.'),
  ...numberedPageShape,
});

export const goldenSetSchema = goldenSetVersionSchema.extend({
  versions: z.array(goldenSetVersionSchema).describe('All of them, newest first.'),
  queries: z.array(goldenQuerySchema).describe('A page of them, in the order of the import.'),
  next_cursor: nextCursor,
});

/** Each query is judged by itself afterwards, so that a refusal names it. */
export const newGoldenSetSchema = z.strictObject({
  queries: z
    .array(z.unknown())
    .min(1)
    .max(MOST_QUERIES)
    .describe('As in the lines of a JSONL file.')
    .meta({
      wire: {
        type: 'array',
        minItems: 1,
        maxItems: MOST_QUERIES,
        description: 'As in the lines of a JSONL file.',
        items: wireSchema(goldenLineSchema),
      },
    }),
});

export const importedGoldenSetSchema = goldenSetVersionSchema.extend({
  created: z.boolean().describe('False when the latest version already has this content.'),
  warnings: z.array(z.string()).describe('What was left out, merged or looks wrong.'),
});

export function goldenQueryJson({
  id,
  text,
  tags,
  judgments,
}: GoldenQuery): z.infer<typeof goldenQuerySchema> {
  return {
    id,
    text,
    tags,
    judgments: judgments.map(({ documentId, grade }) => ({ document_id: documentId, grade })),
  };
}

export function goldenSetVersionJson(set: {
  readonly name: string;
  readonly version: number;
  readonly format: string;
  readonly contentHash: string;
  readonly importedAt: Date;
  readonly queries: number;
  readonly judgments: number;
  readonly origin: string;
  readonly note: string | null;
}): z.infer<typeof goldenSetVersionSchema> {
  return {
    golden_set: set.name,
    version: set.version,
    format: set.format,
    content_hash: set.contentHash,
    imported_at: set.importedAt.toISOString(),
    query_count: set.queries,
    judgment_count: set.judgments,
    origin: set.origin,
    note: set.note,
  };
}
