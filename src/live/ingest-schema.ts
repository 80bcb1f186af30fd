/** Schemas and parsers for the bodies of `POST /v1/queries` and `POST /v1/feedback`. */
import { z } from 'zod';
import { RecalldError, type Rejection } from '../core/errors.ts';
import type { RetrievedDocument } from '../core/model.ts';
import { contentId } from '../core/text/content-id.ts';
import { contextSize } from '../core/text/context-size.ts';
import { DAY_MS } from '../core/time.ts';
import {
  areDocumentFields,
  areSegments,
  documentFieldsSchema,
  identifier,
  isIdentifier,
  isShortText,
  isText,
  segmentsSchema,
  shortText,
  text,
  timestamp,
  wireSchema,
} from '../platform/http/fields.ts';
import { rejectionOf } from '../platform/http/rejections.ts';
import { embeddingSchema, vectorOfWire } from './embedding-schema.ts';
import {
  type Feedback,
  feedbackKinds,
  type LiveQuery,
  type LiveStage,
  liveStage,
  MAX_STAGES,
} from './rules/live-query.ts';

export const feedbackSchema = z.strictObject({
  id: identifier.nullish().describe('Idempotency key; default: derived from the content.'),
  query_id: identifier.describe('Id of the live query. The query may arrive later, or never.'),
  pipeline: identifier.describe('Configured pipeline.'),
  kind: z
    .enum(feedbackKinds)
    .describe(
      'What the user did; the config maps each kind to a sentiment. A citation is a document that the answer cites.',
    ),
  value: z
    .union([z.number(), z.boolean(), shortText])
    .nullish()
    .describe(
      'thumb: true or false, up or down, 1 or -1; rating: a number on the configured scale; relevance: a grade.',
    ),
  document_id: identifier.nullish().describe('The document that was clicked, copied, graded or cited.'),
  rank: z.int().min(1).max(10_000).nullish().describe('Rank at which the document was shown, starting at 1.'),
  occurred_at: timestamp.nullish().describe('When the feedback was given; default: the time of receipt.'),
  user_id: identifier.nullish().describe('User id. recalld stores only a keyed hash of it.'),
  comment: text.nullish().describe('Comment by the user. recalld stores it in the same way as query text.'),
});

type FeedbackBody = z.infer<typeof feedbackSchema>;

function toFeedback(body: FeedbackBody): Feedback {
  return {
    id: body.id ?? null,
    queryId: body.query_id,
    pipeline: body.pipeline,
    kind: body.kind,
    value: body.value ?? null,
    documentId: body.document_id ?? null,
    rank: body.rank ?? null,
    occurredAt: dateOf(body.occurred_at),
    userId: body.user_id ?? null,
    comment: body.comment ?? null,
  };
}

function dateOf(time: string | null | undefined): Date | null {
  return isAbsent(time) ? null : new Date(time);
}

/** @throws RecalldError body_unreadable */
export function readFeedback(body: unknown): ParsedItems<Feedback> {
  return parseItems(body, (value) => validate(value, feedbackSchema, toFeedback));
}

/** Maximum number of items per body. */
const MAX_ITEMS = 1000;

/** Parsed items of a body. Each item is validated separately, so that an invalid item does not affect the others. */
export interface ParsedItems<Item> {
  readonly items: readonly Item[];
  /** Index of each item in the body. */
  readonly positions: readonly number[];
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

/** @throws RecalldError body_unreadable unless the body is an object or a list of at most 1,000 objects */
function parseItems<Item extends object>(
  body: unknown,
  read: (value: unknown) => { readonly item: Item } | { readonly rejection: Rejection },
): ParsedItems<Item> {
  if (typeof body !== 'object' || body === null) {
    throw new RecalldError('body_unreadable', 'The body must be a JSON object or a list of JSON objects.');
  }
  const values: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (values.length > MAX_ITEMS)
    throw new RecalldError('body_unreadable', `The body has ${values.length} items; send at most ${MAX_ITEMS}.`);
  const items: Item[] = [];
  const positions: number[] = [];
  const rejected: (Rejection & { index: number })[] = [];
  for (const [index, value] of values.entries()) {
    const outcome = read(value);
    if ('item' in outcome) {
      items.push(outcome.item);
      positions.push(index);
    } else rejected.push({ index, ...outcome.rejection });
  }
  return { items, positions, rejected };
}

function validate<Schema extends z.ZodType, Item>(
  value: unknown,
  schema: Schema,
  toItem: (parsed: z.infer<Schema>) => Item,
): { readonly item: Item } | { readonly rejection: Rejection } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { item: toItem(parsed.data) };
  return { rejection: rejectionOf(parsed.error.issues, schema, value, 'The item') };
}

const MAX_RESULTS = 1000;
const MAX_STAGE_NAME = 64;

const resultSchema = z
  .strictObject({
    id: identifier.nullish().describe('Document id; default: derived from the text.'),
    score: z.number().nullish().describe('Score from the retriever.'),
    text: z
      .string()
      .nullish()
      .describe(
        'Text that is passed to the model. recalld stores only the total length of all texts and the share of repeated passages in them.',
      ),
    fields: documentFieldsSchema
      .nullish()
      .describe(
        'Metadata that isolation rules compare, such as the region: up to 8 fields of at most 128 characters. recalld stores this metadata.',
      ),
  })
  .refine(({ id, text: own }) => typeof id === 'string' || (typeof own === 'string' && contentId(own) !== null), {
    error: 'needs an id, or a text from which to derive the id',
  });

type Result = z.infer<typeof resultSchema>;

const listSchema = z.array(resultSchema).max(MAX_RESULTS);

/**
 * Results make up most of a live query, so they are first validated by hand-written checks: zod would take as long for
 * them as for all other fields combined. Results that pass these checks skip validation by the schema. The schema
 * validates all other results and produces their error messages.
 */
export const resultsSchema = z
  .custom<readonly Result[]>()
  .check((context) => {
    if (areResults(context.value)) return;
    const { error } = listSchema.safeParse(context.value);
    for (const issue of error?.issues ?? []) context.issues.push({ ...issue, input: undefined });
  })
  .meta({ wire: wireSchema(listSchema) });

function areResults(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_RESULTS && value.every(isResult);
}

function isResult(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const key in value) if (key !== 'id' && key !== 'score' && key !== 'text' && key !== 'fields') return false;
  const { id, score, text: own, fields } = value as Partial<Record<keyof Result, unknown>>;
  return (
    (isIdentifier(id) || (isAbsent(id) && typeof own === 'string' && contentId(own) !== null)) &&
    (isAbsent(score) || Number.isFinite(score)) &&
    (isAbsent(own) || typeof own === 'string') &&
    (isAbsent(fields) || areDocumentFields(fields))
  );
}

/** Many clients send null for absent fields. */
function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

const stagesSchema = z
  .array(
    z.strictObject({
      name: identifier.meta({ maxLength: MAX_STAGE_NAME }).refine((name) => name.length <= MAX_STAGE_NAME, {
        error: `is longer than ${MAX_STAGE_NAME} characters`,
      }),
      latency_ms: z.number().min(0).max(DAY_MS).nullish().describe('Time spent in this stage.'),
      results: resultsSchema.nullish().describe('Documents that the stage returned, best first; omit if unknown.'),
      side: z
        .boolean()
        .nullish()
        .describe('True if this is one of several parallel stages whose results are merged afterwards.'),
    }),
  )
  .max(MAX_STAGES)
  .refine((stages) => new Set(stages.map(({ name }) => name)).size === stages.length, {
    error: 'has two stages with the same name',
  });

const MAX_STEP = 1_000_000;

export const liveQuerySchema = z.strictObject({
  id: identifier.describe('Idempotency key within the pipeline.'),
  pipeline: identifier.describe('Configured pipeline.'),
  occurred_at: timestamp.nullish().describe('When the user asked; default: the time of receipt.'),
  text: text.nullish().describe('Query text.'),
  embedding: embeddingSchema
    .nullish()
    .describe('Query vector: a list of numbers, or base64-encoded little-endian float32 values.'),
  top_k: z.int().min(1).max(10_000).nullish().describe('Number of requested documents.'),
  session_id: identifier.nullish().describe('Session id. Sessions are sampled as a whole.'),
  trace_id: identifier.nullish().describe('Trace id of the request, used to join OpenTelemetry data.'),
  episode: z
    .strictObject({
      id: identifier.describe('Id of the turn, the same for all of its retrievals and different for each turn.'),
      step: z
        .int()
        .min(0)
        .max(MAX_STEP)
        .nullish()
        .describe('Position of the retrieval in the turn; by default, retrievals are ordered by occurred_at.'),
      original_text: text
        .nullish()
        .describe("The user's question before the agent rewrote it. recalld stores it in the same way as query text."),
    })
    .nullish()
    .describe('Agent turn that made this retrieval and possibly others. Turns are sampled as a whole.'),
  results: resultsSchema.describe('Retrieved documents, best first; empty if none were found.'),
  latency_ms: z.number().min(0).max(DAY_MS).nullish().describe('Duration of the retrieval.'),
  stages: stagesSchema
    .nullish()
    .describe(
      'Intermediate stages of the retriever, such as candidates and reranked, in order. recalld stores the rank of each final result in each stage, not the lists.',
    ),
  error: shortText
    .nullish()
    .describe(
      'Short error message; omit it if the retrieval succeeded. recalld stores it in the same way as query text.',
    ),
  segments: segmentsSchema.nullish().describe('Segments to which the query belongs, such as its tenant or language.'),
  user_id: identifier.nullish().describe('User id. recalld stores only a keyed hash of it.'),
  versions: z
    .strictObject({
      index: shortText.nullish(),
      embedder: shortText.nullish(),
      retriever: shortText.nullish(),
    })
    .nullish()
    .describe('Versions of the index, the embedder and the retriever.'),
  sampling: z
    .strictObject({
      probability: z.number().gt(0).max(1).describe('Probability with which the service sent this query to recalld.'),
    })
    .nullish()
    .describe('How the service sampled its queries; required if it sends only a sample.'),
});

type LiveQueryBody = z.infer<typeof liveQuerySchema>;

export function toLiveQuery(body: LiveQueryBody, embedding: Float32Array | null = body.embedding ?? null): LiveQuery {
  const results = body.results.map(documentOf);
  const { index = null, embedder = null, retriever = null } = body.versions ?? {};
  const { id, step = null, original_text: originalText = null } = body.episode ?? {};
  return {
    id: body.id,
    pipeline: body.pipeline,
    occurredAt: dateOf(body.occurred_at),
    text: body.text ?? null,
    embedding,
    topK: body.top_k ?? null,
    sessionId: body.session_id ?? null,
    traceId: body.trace_id ?? null,
    episode: id === undefined ? null : { id, step, originalText },
    results,
    context: isAbsent(body.results[0]?.text) ? null : contextSize(body.results.map((result) => result.text ?? null)),
    latencyMs: body.latency_ms ?? null,
    stages: isAbsent(body.stages) ? none : stagesOf(body.stages, results),
    error: body.error ?? null,
    segments: body.segments ?? {},
    userId: body.user_id ?? null,
    versions: isAbsent(body.versions) ? noVersions : { index, embedder, retriever },
    upstreamProbability: body.sampling?.probability ?? 1,
  };
}

const none: readonly LiveStage[] = [];
const noVersions: LiveQuery['versions'] = { index: null, embedder: null, retriever: null };

/**
 * Reuses the parsed object if it contains only an id and a score. Reusing the object saves memory, because results make
 * up most of a buffered query.
 */
function documentOf(result: Result): RetrievedDocument {
  const { id, score, text: own, fields } = result;
  if (!isAbsent(fields)) return { id: idOf(result), score: score ?? null, fields: fieldsOf(fields) };
  if (typeof id === 'string' && typeof score === 'number' && own === undefined && fields === undefined)
    return result as RetrievedDocument;
  return { id: idOf(result), score: score ?? null };
}

function fieldsOf(fields: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

function stagesOf(stages: z.infer<typeof stagesSchema>, results: readonly RetrievedDocument[]): LiveStage[] {
  const answered = results.map(({ id }) => id);
  return stages.map(({ name, side, latency_ms: latencyMs, results: own }) =>
    liveStage({ name, isSide: side ?? false, latencyMs: latencyMs ?? null }, own?.map(idOf) ?? null, answered),
  );
}

/** The schema has already rejected results that have neither an id nor a text. */
function idOf({ id, text: own }: Result): string {
  return id ?? contentId(own ?? '') ?? '';
}

/** @throws RecalldError body_unreadable */
export function readLiveQueries(body: unknown): ParsedItems<LiveQuery> {
  return parseItems(body, (value) => {
    const plain = plainLiveQuery(value);
    return plain === null ? validate(value, liveQuerySchema, toLiveQuery) : { item: plain };
  });
}

/**
 * Fast path: parses a valid live query with hand-written checks. The schema returns the same result but takes several
 * times as long.
 *
 * @returns null if a check fails; the schema then validates the item and explains the error
 */
export function plainLiveQuery(value: unknown): LiveQuery | null {
  if (typeof value !== 'object' || value === null) return null;
  const body = value as { readonly [Key in keyof LiveQueryBody]?: unknown };
  for (const key in body) if (!isValidField(key, body[key as keyof LiveQueryBody])) return null;
  if (isAbsent(body.id) || isAbsent(body.pipeline) || isAbsent(body.results)) return null;
  if (isAbsent(body.embedding)) return toLiveQuery(body as LiveQueryBody, null);
  const embedding = vectorOfWire(body.embedding as readonly unknown[] | string);
  return embedding === null ? null : toLiveQuery(body as LiveQueryBody, embedding);
}

function isValidField(key: string, value: unknown): boolean {
  const isValid = fieldChecks[key];
  if (isValid !== undefined) return value === null || isValid(value);
  const { shape } = liveQuerySchema;
  return Object.hasOwn(shape, key) && shape[key as keyof typeof shape].safeParse(value).success;
}

/** Hand-written checks of the most frequent or largest fields. Vectors are validated when they are parsed. */
const fieldChecks: Readonly<Record<string, (value: unknown) => boolean>> = Object.assign(Object.create(null), {
  id: isIdentifier,
  pipeline: isIdentifier,
  text: isText,
  embedding: (value) => typeof value === 'string' || Array.isArray(value),
  top_k: (value) => Number.isInteger(value) && isWithin(value, 1, 10_000),
  session_id: isIdentifier,
  trace_id: isIdentifier,
  results: areResults,
  latency_ms: (value) => isWithin(value, 0, DAY_MS),
  error: isShortText,
  segments: areSegments,
  user_id: isIdentifier,
} satisfies { readonly [Key in keyof LiveQueryBody]?: (value: unknown) => boolean });

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

export const erasedQueryParams = z.strictObject({ id: identifier });
