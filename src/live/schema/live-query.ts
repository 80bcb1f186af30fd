/** Body of `POST /v1/queries`: one item of it, its limits, and its way to a LiveQuery. */
import { z } from 'zod';
import { identifier, segmentsSchema, shortText, text, timestamp } from '../../http/fields.ts';
import { DAY_MS } from '../../time.ts';
import type { LiveQuery } from '../rules/live-query.ts';
import { embeddingSchema } from './embedding.ts';
import { type ParsedItems, parseItems } from './items.ts';
import { resultsSchema } from './results.ts';

export const liveQuerySchema = z.strictObject({
  id: identifier.describe('Idempotency key within the pipeline.'),
  pipeline: identifier.describe('Pipeline of the config.'),
  occurred_at: timestamp.optional().describe('When the user asked; left out, when it was received.'),
  text: text.optional().describe('What the user asked.'),
  embedding: embeddingSchema
    .optional()
    .describe('Vector of the query: numbers, or base64 of float32 little-endian.'),
  top_k: z.int().min(1).max(10_000).optional().describe('How many documents were asked for.'),
  session_id: identifier.optional().describe('Sessions are sampled whole.'),
  trace_id: identifier.optional().describe('Trace of the request, to join what OpenTelemetry tells of it.'),
  results: resultsSchema.describe('What was retrieved, best first; empty when nothing was.'),
  latency_ms: z.number().min(0).max(DAY_MS).optional().describe('How long the retrieval took.'),
  error: shortText
    .optional()
    .describe('What went wrong, in short; left out when the retrieval succeeded. Stored as the text is.'),
  segments: segmentsSchema.optional().describe('Slices of the traffic, such as tenant or language.'),
  user_id: identifier.optional().describe('Stored as a keyed hash only.'),
  versions: z
    .strictObject({
      index: shortText.optional(),
      embedder: shortText.optional(),
      retriever: shortText.optional(),
    })
    .optional()
    .describe('Versions of the parts that answered.'),
  sampling: z
    .strictObject({
      probability: z.number().gt(0).max(1).describe('Probability with which the service sent this query.'),
    })
    .optional()
    .describe('Set when the service sends only a sample of its queries.'),
});

export type LiveQueryBody = z.infer<typeof liveQuerySchema>;

/** Wire form -> core form. */
export function toLiveQuery(body: LiveQueryBody): LiveQuery {
  return {
    id: body.id,
    pipeline: body.pipeline,
    occurredAt: body.occurred_at === undefined ? null : new Date(body.occurred_at),
    text: body.text ?? null,
    embedding: body.embedding ?? null,
    topK: body.top_k ?? null,
    sessionId: body.session_id ?? null,
    traceId: body.trace_id ?? null,
    results: body.results.map(({ id, score }) => ({ id, score: score ?? null })),
    latencyMs: body.latency_ms ?? null,
    error: body.error ?? null,
    segments: body.segments ?? {},
    userId: body.user_id ?? null,
    versions: {
      index: body.versions?.index ?? null,
      embedder: body.versions?.embedder ?? null,
      retriever: body.versions?.retriever ?? null,
    },
    upstreamProbability: body.sampling?.probability ?? 1,
  };
}

/** The live queries of a body. @throws RecalldError body_unreadable */
export function readLiveQueries(body: unknown): ParsedItems<LiveQuery> {
  return parseItems(body, liveQuerySchema, toLiveQuery);
}

/** The path of the erasure of a live query: what can be no id of one is refused. */
export const erasedQueryParams = z.strictObject({ id: identifier });
