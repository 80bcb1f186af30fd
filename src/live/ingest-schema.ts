/** The bodies of `POST /v1/queries` and `POST /v1/feedback`: their limits, and their way to live queries and feedback. */
import { z } from 'zod';
import { RecalldError, type Rejection } from '../core/errors.ts';
import type { RetrievedDocument } from '../core/model.ts';
import { contentId } from '../core/text/content-id.ts';
import { contextSize } from '../core/text/context-size.ts';
import { DAY_MS } from '../core/time.ts';
import {
  areSegments,
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
  id: identifier.nullish().describe('Idempotency key; left out, it is derived from what the feedback says.'),
  query_id: identifier.describe('Id of the live query that it is about; the query may come later, or never.'),
  pipeline: identifier.describe('Pipeline of the config.'),
  kind: z.enum(feedbackKinds).describe('What the user did; the config says what each kind means.'),
  value: z
    .union([z.number(), z.boolean(), shortText])
    .nullish()
    .describe(
      'thumb: true or false, up or down, 1 or -1; rating: a number on the scale of the config; relevance: a grade.',
    ),
  document_id: identifier.nullish().describe('The document that was clicked, copied or judged.'),
  rank: z.int().min(1).max(10_000).nullish().describe('Its rank when it was shown, from 1.'),
  occurred_at: timestamp.nullish().describe('When the user did it; left out, when it was received.'),
  user_id: identifier.nullish().describe('Stored as a keyed hash only.'),
  comment: text.nullish().describe('Stored as the text of the query is.'),
});

type FeedbackBody = z.infer<typeof feedbackSchema>;

/** Wire form -> core form. */
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

/** The feedback of a body. @throws RecalldError body_unreadable */
export function readFeedback(body: unknown): ParsedItems<Feedback> {
  return parseItems(body, (value) => judge(value, feedbackSchema, toFeedback));
}

/** Most items in a body. */
const MAX_ITEMS = 1000;

/** A body of one item or many: each item is judged on its own, so that one bad item costs only itself. */
export interface ParsedItems<Item> {
  readonly items: readonly Item[];
  /** Where each item stood in the body. */
  readonly positions: readonly number[];
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

/** @throws RecalldError body_unreadable when the body is neither an object nor a list of at most 1,000 */
function parseItems<Item extends object>(
  body: unknown,
  read: (value: unknown) => { readonly item: Item } | { readonly rejection: Rejection },
): ParsedItems<Item> {
  if (typeof body !== 'object' || body === null) {
    throw new RecalldError('body_unreadable', 'The body must be a JSON object, or a list of them.');
  }
  if (!Array.isArray(body)) {
    const outcome = read(body);
    if ('rejection' in outcome) return { items: [], positions: [], rejected: [{ index: 0, ...outcome.rejection }] };
    return { items: [outcome.item], positions: [0], rejected: [] };
  }
  if (body.length > MAX_ITEMS)
    throw new RecalldError('body_unreadable', `The body has ${body.length} items; send at most ${MAX_ITEMS}.`);
  const items: Item[] = [];
  const positions: number[] = [];
  const rejected: (Rejection & { index: number })[] = [];
  for (let index = 0; index < body.length; index++) {
    const outcome = read((body as readonly unknown[])[index]);
    if ('item' in outcome) {
      items.push(outcome.item);
      positions.push(index);
    } else rejected.push({ index, ...outcome.rejection });
  }
  return { items, positions, rejected };
}

/** @param toItem wire form -> core form */
function judge<Schema extends z.ZodType, Item>(
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
    id: identifier.nullish().describe('Document id; left out, it is made of the text.'),
    score: z.number().nullish().describe('As the retriever gave it.'),
    text: z
      .string()
      .nullish()
      .describe('What the pipeline hands on of it. Its length and what it repeats are kept, it is not.'),
  })
  .refine(({ id, text: own }) => typeof id === 'string' || (typeof own === 'string' && contentId(own) !== null), {
    error: 'needs an id, or a text to make it of',
  });

type Result = z.infer<typeof resultSchema>;

const listSchema = z.array(resultSchema).max(MAX_RESULTS);

/**
 * Results are most of a live query, so they are judged by hand first: a schema for each of them would cost as much as all
 * of its other fields. What is not plainly right goes through the schema, which says what is wrong.
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
  for (const key in value) if (key !== 'id' && key !== 'score' && key !== 'text') return false;
  const { id, score, text: own } = value as Partial<Record<'id' | 'score' | 'text', unknown>>;
  return (
    (isIdentifier(id) || (isAbsent(id) && typeof own === 'string' && contentId(own) !== null)) &&
    (isAbsent(score) || Number.isFinite(score)) &&
    (isAbsent(own) || typeof own === 'string')
  );
}

/** Null is what many clients send for what is not there. */
function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

const stagesSchema = z
  .array(
    z.strictObject({
      name: identifier.meta({ maxLength: MAX_STAGE_NAME }).refine((name) => name.length <= MAX_STAGE_NAME, {
        error: `is longer than ${MAX_STAGE_NAME} characters`,
      }),
      latency_ms: z.number().min(0).max(DAY_MS).nullish().describe('What it took of the time of the whole.'),
      results: resultsSchema.nullish().describe('What it handed on, best first; left out where that is not known.'),
      side: z.boolean().nullish().describe('True for one of several beside each other, which are joined after it.'),
    }),
  )
  .max(MAX_STAGES)
  .refine((stages) => new Set(stages.map(({ name }) => name)).size === stages.length, {
    error: 'names a stage twice',
  });

export const liveQuerySchema = z.strictObject({
  id: identifier.describe('Idempotency key within the pipeline.'),
  pipeline: identifier.describe('Pipeline of the config.'),
  occurred_at: timestamp.nullish().describe('When the user asked; left out, when it was received.'),
  text: text.nullish().describe('What the user asked.'),
  embedding: embeddingSchema.nullish().describe('Vector of the query: numbers, or base64 of float32 little-endian.'),
  top_k: z.int().min(1).max(10_000).nullish().describe('How many documents were asked for.'),
  session_id: identifier.nullish().describe('Sessions are sampled whole.'),
  trace_id: identifier.nullish().describe('Trace of the request, to join what OpenTelemetry tells of it.'),
  results: resultsSchema.describe('What was retrieved, best first; empty when nothing was.'),
  latency_ms: z.number().min(0).max(DAY_MS).nullish().describe('How long the retrieval took.'),
  stages: stagesSchema
    .nullish()
    .describe(
      'What the stages of the retriever before its answer had, such as candidates and reranked, in the order in which they work. Their ranks of the results are kept, their lists are not.',
    ),
  error: shortText
    .nullish()
    .describe('What went wrong, in short; left out when the retrieval succeeded. Stored as the text is.'),
  segments: segmentsSchema.nullish().describe('Slices of the traffic, such as tenant or language.'),
  user_id: identifier.nullish().describe('Stored as a keyed hash only.'),
  versions: z
    .strictObject({
      index: shortText.nullish(),
      embedder: shortText.nullish(),
      retriever: shortText.nullish(),
    })
    .nullish()
    .describe('Versions of the parts that answered.'),
  sampling: z
    .strictObject({
      probability: z.number().gt(0).max(1).describe('Probability with which the service sent this query.'),
    })
    .nullish()
    .describe('Set when the service sends only a sample of its queries.'),
});

type LiveQueryBody = z.infer<typeof liveQuerySchema>;

/** Wire form -> core form. */
export function toLiveQuery(body: LiveQueryBody, embedding: Float32Array | null = body.embedding ?? null): LiveQuery {
  const results = body.results.map(documentOf);
  const { index = null, embedder = null, retriever = null } = body.versions ?? {};
  return {
    id: body.id,
    pipeline: body.pipeline,
    occurredAt: dateOf(body.occurred_at),
    text: body.text ?? null,
    embedding,
    topK: body.top_k ?? null,
    sessionId: body.session_id ?? null,
    traceId: body.trace_id ?? null,
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

/** The result itself where it is nothing else: they are most of a query, and many queries are held for a while. */
function documentOf(result: Result): RetrievedDocument {
  const { id, score, text: own } = result;
  if (typeof id === 'string' && typeof score === 'number' && own === undefined) return result as RetrievedDocument;
  return { id: idOf(result), score: score ?? null };
}

function stagesOf(stages: z.infer<typeof stagesSchema>, results: readonly RetrievedDocument[]): LiveStage[] {
  const answered = results.map(({ id }) => id);
  return stages.map(({ name, side, latency_ms: latencyMs, results: own }) =>
    liveStage({ name, isSide: side ?? false, latencyMs: latencyMs ?? null }, own?.map(idOf) ?? null, answered),
  );
}

/** One without an id and a text was refused. */
function idOf({ id, text: own }: Result): string {
  return id ?? contentId(own ?? '') ?? '';
}

/** The live queries of a body. @throws RecalldError body_unreadable */
export function readLiveQueries(body: unknown): ParsedItems<LiveQuery> {
  return parseItems(body, (value) => {
    const plain = plainLiveQuery(value);
    return plain === null ? judge(value, liveQuerySchema, toLiveQuery) : { item: plain };
  });
}

/**
 * What the schema and `toLiveQuery` make of an item that is plainly right, judged by hand: nearly all are, and the
 * schema costs several times as much.
 *
 * @returns null for what the schema shall judge, and say what is wrong
 */
export function plainLiveQuery(value: unknown): LiveQuery | null {
  if (typeof value !== 'object' || value === null) return null;
  const body = value as { readonly [Key in keyof LiveQueryBody]?: unknown };
  for (const key in body) {
    const judge = judges[key];
    const own = body[key as keyof LiveQueryBody];
    if (judge === undefined || (own !== null && !judge(own))) return null;
  }
  if (isAbsent(body.id) || isAbsent(body.pipeline) || isAbsent(body.results)) return null;
  if (isAbsent(body.embedding)) return toLiveQuery(body as LiveQueryBody, null);
  const embedding = vectorOfWire(body.embedding as readonly unknown[] | string);
  return embedding === null ? null : toLiveQuery(body as LiveQueryBody, embedding);
}

/** Of each field, whether it is plainly right; vectors are judged when they are read. */
const judges: Readonly<Record<string, (value: unknown) => boolean>> = Object.assign(Object.create(null), {
  id: isIdentifier,
  pipeline: isIdentifier,
  occurred_at: (value) => timestamp.safeParse(value).success,
  text: isText,
  embedding: (value) => typeof value === 'string' || Array.isArray(value),
  top_k: (value) => Number.isInteger(value) && isWithin(value, 1, 10_000),
  session_id: isIdentifier,
  trace_id: isIdentifier,
  results: areResults,
  latency_ms: (value) => isWithin(value, 0, DAY_MS),
  stages: (value) => stagesSchema.safeParse(value).success,
  error: isShortText,
  segments: areSegments,
  user_id: isIdentifier,
  versions: (value) => areFields(value, isVersion),
  sampling: (value) =>
    areFields(value, (key, share) => key === 'probability' && isWithin(share, Number.MIN_VALUE, 1)) &&
    'probability' in (value as object),
} satisfies { readonly [Key in keyof LiveQueryBody]-?: (value: unknown) => boolean });

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function isVersion(key: string, value: unknown): boolean {
  return (key === 'index' || key === 'embedder' || key === 'retriever') && (value === null || isShortText(value));
}

function areFields(value: unknown, isField: (key: string, value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const key in value) if (!isField(key, (value as Record<string, unknown>)[key])) return false;
  return true;
}

/** The path of the erasure of a live query: what can be no id of one is refused. */
export const erasedQueryParams = z.strictObject({ id: identifier });
