/** Routes for ingestion and the feedback summary. A 202 is sent only after the database has committed. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Context, onReplica } from '../../core/context.ts';
import { type ErrorCode, type Rejection, rejectionTable } from '../../core/errors.ts';
import { HOUR_MS, type TimeSpan } from '../../core/time.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import { type ContextOf, pipelinesOf } from '../../platform/access/pipeline-access.ts';
import { parseRequest } from '../../platform/http/fields.ts';
import { acceptJson, LargeBody, type RequestBodies, SMALL_BYTES } from '../../platform/http/request-bodies.ts';
import { type Endpoint, toWire } from '../../platform/http/wire.ts';
import { feedbackSummaryQuery, feedbackSummarySchema } from '../../report/status/schema.ts';
import type { LivePlan } from '../context.ts';
import { feedbackSchema, liveQuerySchema, type ParsedItems, readFeedback, readLiveQueries } from '../ingest-schema.ts';
import type { IngestDeps } from '../live-ingest.ts';
import { withinSegments } from '../measure-feedback.ts';
import {
  type OpinionTally,
  type PositiveRatioOutcome,
  positiveRatios,
  type Sentiment,
} from '../rules/feedback/sentiment.ts';
import { type FeedbackBasis, kindsOf } from '../rules/feedback/user-cap.ts';

export function addIngest(app: FastifyInstance, deps: IngestDeps, bodies: RequestBodies): void {
  const { queries, feedback } = deps.largeBodies;
  void app.register(async (scope) => {
    acceptJson(scope, bodies, SMALL_BYTES);
    addItems(scope, '/v1/queries', deps, readLiveQueries, queries, (items, only) => deps.ingestQueries(items, only));
    addItems(scope, '/v1/feedback', deps, readFeedback, feedback, (items, only) => deps.ingestFeedback(items, only));
  });
}

type Indexed = Rejection & { readonly index: number };

/** Adds a route that parses items and ingests them batch by batch. Sends 422 if all items were rejected, otherwise 202. */
function addItems<Item>(
  scope: FastifyInstance,
  path: string,
  deps: IngestDeps,
  read: (body: unknown) => ParsedItems<Item>,
  readLarge: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<Item>>>,
  ingest: (
    items: readonly Item[],
    only: readonly string[] | null,
  ) => Promise<{
    readonly accepted: number;
    readonly sampled?: number;
    readonly duplicates: number;
    readonly rejected: readonly Indexed[];
  }>,
): void {
  scope.post(path, { preParsing: requireScope('ingest', deps.authentication) }, async (request, reply) => {
    let [accepted, duplicates] = [0, 0];
    let sampled: number | undefined;
    const rejected: Indexed[] = [];
    for (const batch of await batchesOf(request, read, readLarge)) {
      const report = await ingest(batch.items, pipelinesOf(request));
      accepted += report.accepted;
      duplicates += report.duplicates;
      if (report.sampled !== undefined) sampled = (sampled ?? 0) + report.sampled;
      for (const rejection of batch.rejected) rejected.push(rejection);
      // The indexes in a report refer to the batch; `positions` maps them to indexes in the body.
      for (const rejection of report.rejected)
        rejected.push({ ...rejection, index: batch.positions[rejection.index] ?? rejection.index });
    }
    rejected.sort((a, b) => a.index - b.index);
    for (const { code } of rejected) deps.onRejected(code);
    const isAccepted = accepted + duplicates > 0 || rejected.length === 0;
    return reply.code(isAccepted ? 202 : 422).send({ accepted, sampled, duplicates, rejected });
  });
}

/** Parses a request body and releases it, so that the text form of vectors does not stay in memory until the commit. */
function batchesOf<Item>(
  request: FastifyRequest,
  read: (body: unknown) => ParsedItems<Item>,
  readLarge: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<Item>>>,
) {
  const { body } = request;
  request.body = undefined;
  return body instanceof LargeBody ? readLarge(body.pieces) : [read(body)];
}

export type ShedReason = 'database' | 'disk_full' | 'overload' | 'rate_limit';

/** Maps the code of a retryable error to the reason under which the rejected request is counted. */
export function shedReason(code: ErrorCode): ShedReason {
  if (code === 'overloaded') return 'overload';
  if (code === 'rate_limited') return 'rate_limit';
  return code === 'database_full' ? 'disk_full' : 'database';
}

const codes = Object.keys(rejectionTable) as (keyof typeof rejectionTable)[];

const rejected = z
  .array(
    z.object({
      index: z.int().min(0).describe('Index of the item in the request body.'),
      code: z.enum(codes),
      message: z.string().describe('Sentence that names the field and the fix.'),
    }),
  )
  .describe('Rejected items. All other items were accepted.');

const count = z.int().min(0);

const queriesReport = z.object({
  accepted: count.describe('Number of new, valid queries, sampled or not.'),
  sampled: count.describe('Number of accepted queries that were sampled.'),
  duplicates: count.describe('Number of sampled queries whose id was already stored.'),
  rejected,
});

const feedbackReport = z.object({
  accepted: count,
  duplicates: count.describe('Number of feedback items whose id was already stored.'),
  rejected,
});

const oneOrMany = <Schema extends z.ZodType>(item: Schema) => z.union([item, z.array(item).max(1000)]);

const itemResponses = (body: z.ZodType) => ({
  '202': { description: 'recalld has committed all accepted items to the database.', body },
  '422': { description: 'recalld rejected all items; the response body explains why.', body },
});

const posted = { method: 'post', tag: 'ingest', scope: 'ingest', pipelines: 'items' } as const;

const otlpResponse = (type: string) => ({
  '200': { description: `An ${type} in the format of the request.`, body: null },
});

export const ingestEndpoints: readonly Endpoint[] = [
  {
    ...posted,
    path: '/v1/queries',
    summary:
      'Send live queries: one query, or a list of at most 1,000. Sending a query again with the same id has no effect.',
    body: oneOrMany(liveQuerySchema),
    responses: itemResponses(queriesReport),
  },
  {
    ...posted,
    path: '/v1/feedback',
    summary: 'Send user feedback on answers: one item, or a list of at most 1,000.',
    body: oneOrMany(feedbackSchema),
    responses: itemResponses(feedbackReport),
  },
  {
    ...posted,
    path: '/v1/traces',
    summary: 'Send OpenTelemetry traces (OTLP/HTTP: protobuf or JSON, plain or gzip).',
    body: null,
    responses: otlpResponse('ExportTraceServiceResponse'),
  },
  {
    ...posted,
    path: '/v1/logs',
    summary: 'Send OpenTelemetry logs (OTLP/HTTP). recalld stores gen_ai.evaluation.result events as feedback.',
    body: null,
    responses: otlpResponse('ExportLogsServiceResponse'),
  },
];

export function addFeedbackSummary(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/feedback/summary', read, async (request) => {
    const { pipeline, hours } = parseRequest(request.query, feedbackSummaryQuery, 'query');
    const context = contextOf(request);
    const until = context.clock.now();
    const from = new Date(until.getTime() - hours * HOUR_MS);
    const summaries = await summarizeAllFeedback(onReplica(context), pipeline ?? null, { from, until });
    return toWire(feedbackSummarySchema, {
      from,
      until,
      pipelines: summaries.map(({ opinions: { all, explicit, implicit }, ...summary }) => ({
        ...summary,
        opinions: { all: ratiosOf(all), explicit: ratiosOf(explicit), implicit: ratiosOf(implicit) },
      })),
    });
  });
}

function ratiosOf(ratios: ReadonlyMap<string, PositiveRatioOutcome>) {
  return new Map([...ratios].map(([segment, outcome]) => [segment, ratioOf(outcome)]));
}

function ratioOf(outcome: PositiveRatioOutcome) {
  const ciMethod = 'wilson' as const;
  if (outcome.kind !== 'ratio')
    return { positive: 0, negative: 0, n: 0, positiveRatio: null, ciLow: null, ciHigh: null, ciMethod };
  const { value: positiveRatio, low: ciLow, high: ciHigh, ...counts } = outcome;
  return { ...counts, positiveRatio, ciLow, ciHigh, ciMethod };
}

export type FeedbackSummary = Awaited<ReturnType<typeof summarizeFeedback>>;

/**
 * Summarizes the feedback on one pipeline, or on all pipelines if `name` is null.
 *
 * @throws RecalldError pipeline_unknown
 */
export async function summarizeAllFeedback(
  { db, pipelines, livePlans }: Context,
  name: string | null,
  window: TimeSpan,
): Promise<FeedbackSummary[]> {
  if (name !== null) findPipeline(pipelines, name);
  const summaries: FeedbackSummary[] = [];
  for (const plan of livePlans.filter(({ pipeline }) => name === null || pipeline === name))
    summaries.push(await summarizeFeedback(db, plan, window));
  return summaries;
}

/** Summarizes the feedback on a pipeline within a window: counts by kind, and ratios by segment. */
export async function summarizeFeedback({ live }: Context['db'], plan: LivePlan, window: TimeSpan) {
  const found = await live.traffic.opinions(plan.pipeline, window, plan.segmentKeys);
  const tallies = withinSegments(found, plan);
  const ratios = (basis: FeedbackBasis) => positiveRatios(tallies, basis);
  return {
    pipeline: plan.pipeline,
    kinds: kindCounts(found),
    opinions: { all: ratios('all'), explicit: ratios('explicit'), implicit: ratios('implicit') },
  };
}

/** `feedback` counts all feedback, including feedback that was replaced or that exceeded a user's cap. */
function kindCounts(tallies: readonly OpinionTally[]) {
  return kindsOf('all').flatMap((kind) => {
    const own = tallies.filter((tally) => tally.kind === kind);
    const opinions = (sentiment: Sentiment) =>
      own.reduce((sum, tally) => sum + (tally.sentiment === sentiment ? tally.opinions : 0), 0);
    const feedback = own.reduce((sum, tally) => sum + tally.feedback, 0);
    if (feedback === 0) return [];
    return [
      {
        kind,
        feedback,
        positive: opinions('positive'),
        negative: opinions('negative'),
        neutral: opinions('neutral'),
      },
    ];
  });
}
