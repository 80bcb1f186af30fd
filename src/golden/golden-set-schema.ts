import { z } from 'zod';
import type { GoldenQuery, Judgment } from '../core/model.ts';
import { contentId } from '../core/text/content-id.ts';
import { malformed, type SourcePlace } from '../core/text/source-line.ts';
import { nameSchema } from '../platform/config/connection.ts';
import { nextCursor, numberedPageShape, wireSchema } from '../platform/http/fields.ts';
import { toWire } from '../platform/http/wire.ts';
import { type GoldenLine, type GoldenSetVersion, goldenLimits } from './rules/golden-set.ts';
import type { ImportSummary } from './rules/golden-set-builder.ts';

const documentIdSchema = z.string({ error: 'must be a document id in double quotes' });

const gradeSchema = z
  .int({ error: 'must be a whole number' })
  .describe('0 = not relevant, higher = more relevant. A negative grade means unjudged.');

const judgmentSchema = z
  .strictObject({
    document_id: documentIdSchema.optional().describe('The id that the retriever returns for the document.'),
    document_text: z
      .string({ error: 'must be text' })
      .optional()
      .describe('Text of the document, which replaces the id for a retriever that returns no ids.'),
    grade: gradeSchema.default(1),
  })
  .refine((one) => (one.document_id === undefined) !== (one.document_text === undefined), {
    error: 'must have either "document_id" or "document_text"',
  })
  .refine((one) => one.document_text === undefined || contentId(one.document_text) !== null, {
    error: 'must not have an empty "document_text"',
  });

/**
 * Validates only the structure. GoldenSetBuilder checks lengths, characters and repeats, in the same way for every
 * format.
 */
const goldenLineSchema = z
  .strictObject({
    id: z
      .string({ error: 'must be text' })
      .optional()
      .describe('Query id, unique within the file. If omitted, the id is derived from the text and the tags.'),
    text: z
      .string({ error: 'must be text' })
      .optional()
      .describe('The text of the query. Default: the `steps`, joined by ` / `.'),
    question: z.string({ error: 'must be text' }).optional().describe('Alias for `text`.'),
    steps: z
      .array(z.string({ error: 'must be a string in double quotes' }), { error: 'must be a list of strings' })
      .min(1, { error: 'must not be empty' })
      .max(goldenLimits.steps, { error: `must contain at most ${goldenLimits.steps} strings` })
      .optional()
      .describe(
        'Texts, such as the hops of a multi-hop question, that recalld sends to the retriever in order, instead of `text`. The query is scored on the union of the results of all steps: `union_recall@k` and `all_found@k`.',
      ),
    tags: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.boolean()], { error: 'must be a string, a number, true or false' }),
        { error: 'must be an object such as {"language": "en"}' },
      )
      .optional()
      .describe('At most 32 tags; queries that have the same key and value form a segment.'),
    judgments: z
      .union([z.array(judgmentSchema), z.record(z.string(), gradeSchema)], {
        error: 'must be a list of {"document_id": "...", "grade": 1} or an object such as {"d1": 1}',
      })
      .optional()
      .describe('The judged documents with their grades.'),
    relevant: z
      .array(documentIdSchema, { error: 'must be a list of document ids' })
      .optional()
      .describe('Ids of the relevant documents; a shorthand for `judgments` with grade 1.'),
    forbidden: z
      .array(documentIdSchema, { error: 'must be a list of document ids' })
      .optional()
      .describe(
        'Ids of documents that the retriever must never return, or id prefixes followed by `*`. A query with forbidden documents needs no judgments.',
      ),
    no_answer: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .describe(
        'True if no document answers the query, so an empty result is correct. A query with `no_answer` needs no judgments.',
      ),
  })
  .refine(
    ({ text, question, steps }) =>
      (text === undefined) !== (question === undefined) || (text === undefined && steps !== undefined),
    { error: 'must have either "text" or "question", but may omit both if it has "steps"' },
  )
  .refine((line) => line.judgments === undefined || line.relevant === undefined, {
    error: 'must have either "judgments" or "relevant"',
  })
  .refine(
    (line) =>
      line.no_answer === true || [line.judgments, line.relevant, line.forbidden].some((list) => list !== undefined),
    { error: 'must have at least one of "judgments", "relevant", "forbidden" and "no_answer"' },
  );

type LineValue = z.infer<typeof goldenLineSchema>;

/** Parses one JSON value of the JSONL form. @throws RecalldError file_malformed */
export function parseGoldenLine(value: unknown, place: SourcePlace): GoldenLine {
  const result = goldenLineSchema.safeParse(value);
  if (!result.success) throw malformed(place, wording(result.error.issues.map(deepest)[0]));
  const { id, text, question, steps = [], tags = {} } = result.data;
  return {
    id: id ?? null,
    text: text ?? question ?? steps.join(' / '),
    steps,
    tags: Object.fromEntries(Object.entries(tags).map(([key, tag]) => [key, String(tag)])),
    judgments: judgmentsOf(result.data),
    forbidden: result.data.forbidden ?? [],
    noAnswer: result.data.no_answer ?? false,
  };
}

function judgmentsOf({ judgments, relevant = [] }: LineValue): Judgment[] {
  if (judgments === undefined) return relevant.map((documentId) => ({ documentId, grade: 1 }));
  if (Array.isArray(judgments)) {
    return judgments.map(({ document_id: id, document_text: text = '', grade }) => ({
      documentId: id ?? contentId(text) ?? '',
      grade,
    }));
  }
  return Object.entries(judgments).map(([documentId, grade]) => ({ documentId, grade }));
}

/** Returns the issue for the kind of judgment that the author probably meant. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.flat().find(({ code, path }) => path.length > 0 || code === 'unrecognized_keys');
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

function wording(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'is not a query; write {"text": "...", "relevant": ["..."]}';
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    const owner = issue.path.length === 0 ? 'a query' : `"${issue.path.join('.')}"`;
    return `has the unknown ${issue.keys.length === 1 ? 'key' : 'keys'} ${keys} in ${owner}; the keys of a query are id, text, steps, tags, judgments (or relevant), forbidden and no_answer`;
  }
  if (issue.path.length === 0) {
    const rule = issue.code === 'custom' ? issue.message : 'must be a JSON object';
    return `${rule}, such as {"text": "...", "relevant": ["..."]}`;
  }
  return `has a bad value: "${issue.path.join('.')}" ${issue.message}`;
}

export const MAX_QUERIES = 100_000;

export const goldenSetVersionSchema = z.object({
  golden_set: z.string(),
  version: z.int(),
  format: z
    .string()
    .describe('Format of the imported file, as in `--format`; `json` if the set was imported through the API.'),
  content_hash: z.string(),
  imported_at: z.iso.datetime(),
  query_count: z.int(),
  judgment_count: z.int(),
  origin: z.string().describe('Origin of the queries: `human` or `generated`.'),
  note: z.string().nullable(),
});

export const goldenQuerySchema = z.object({
  id: z.string(),
  text: z.string(),
  steps: z
    .array(z.string())
    .describe(
      'Texts that recalld sends to the retriever in order, instead of `text`; empty for a query with one retrieval.',
    ),
  tags: z.record(z.string(), z.string()),
  judgments: z.array(z.object({ document_id: z.string(), grade: z.int() })),
  forbidden: z
    .array(z.string())
    .describe(
      'Ids of documents that the retriever must never return; a `*` at the end matches any remainder of an id.',
    ),
  no_answer: z.boolean().describe('True if no document answers the query, so an empty result is correct.'),
});

export const goldenSetListQuery = z.strictObject(numberedPageShape);

export const goldenSetParams = z.strictObject({ name: nameSchema });

export const goldenSetQuery = z.strictObject({
  version: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .describe('Version of the golden set; default: the latest version.'),
  ...numberedPageShape,
});

export const goldenSetSchema = goldenSetVersionSchema.extend({
  versions: z.array(goldenSetVersionSchema).describe('All versions, newest first.'),
  queries: z.array(goldenQuerySchema).describe('A page of queries, in import order.'),
  next_cursor: nextCursor,
});

/** The schema does not validate the queries. They are parsed one by one later, so that an error can name the query. */
export const newGoldenSetSchema = z.strictObject({
  queries: z
    .array(z.unknown())
    .min(1)
    .max(MAX_QUERIES)
    .describe('Queries, with the same fields as in a JSONL file.')
    .meta({
      wire: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_QUERIES,
        description: 'Queries, with the same fields as in a JSONL file.',
        items: wireSchema(goldenLineSchema),
      },
    }),
});

const importSummarySchema = z.object({
  columns: z
    .array(z.object({ column: z.string(), read_as: z.string(), reason: z.string().nullable() }))
    .describe('How each column was read; empty for formats without columns.'),
  judgments_by_grade: z.record(z.string(), z.int()),
  document_count: z.int().describe('Number of distinct judged documents.'),
  tags: z.record(z.string(), z.int()).describe('Number of queries with each tag.'),
  skipped: z
    .array(z.object({ reason: z.string(), count: z.int(), first: z.string() }))
    .describe(
      'Number of skipped rows, queries and judgments by reason; `first` is the place of the first skipped item.',
    ),
});

export const importedGoldenSetSchema = goldenSetVersionSchema.extend({
  created: z.boolean().describe('True if a version was created; false if the latest version already has this content.'),
  warnings: z.array(z.string()).describe('Warnings about skipped, merged or suspicious entries.'),
  ...importSummarySchema.shape,
});

/** Adds the fields that a query omits when they are empty. */
export function filled(query: GoldenQuery) {
  const { steps = [], forbidden = [], noAnswer = false } = query;
  return { ...query, steps, forbidden, noAnswer };
}

export function goldenQueryJson(query: GoldenQuery): z.infer<typeof goldenQuerySchema> {
  return toWire(goldenQuerySchema, filled(query));
}

export function importSummaryJson(summary: ImportSummary) {
  return toWire(importSummarySchema, { ...summary, documentCount: summary.documents });
}

export function goldenSetVersionJson(set: GoldenSetVersion): z.infer<typeof goldenSetVersionSchema> {
  const { name: goldenSet, queries: queryCount, judgments: judgmentCount } = set;
  return toWire(goldenSetVersionSchema, { ...set, goldenSet, queryCount, judgmentCount });
}
