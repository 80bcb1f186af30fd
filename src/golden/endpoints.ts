/**
 * Endpoints of golden sets, runs and baselines. `/v1/golden-runs`: runs, what became of their queries, two of them side by
 * side; and what they are compared with.
 */
import { z } from 'zod';
import { RecalldError } from '../core/errors.ts';
import { queryOutcomes } from '../core/model.ts';
import { parseMetricKey } from '../math/ir/metric-key.ts';
import { nameSchema } from '../platform/config/connection.ts';
import {
  idField,
  limitField,
  nextCursor,
  numberedPageShape,
  pageOf,
  pageQueryShape,
  shortText,
} from '../platform/http/fields.ts';
import { type Endpoint, toWire } from '../platform/http/wire.ts';
import {
  goldenQuerySchema,
  goldenSetListQuery,
  goldenSetParams,
  goldenSetQuery,
  goldenSetSchema,
  goldenSetVersionSchema,
  importedGoldenSetSchema,
  newGoldenSetSchema,
} from './golden-set-schema.ts';
import type { ChangedQuery } from './rules/listed-queries.ts';
import { runMeasures } from './rules/score-run.ts';
import { comparedShape, metricsSchema, runStatusField, runSummarySchema, verdictField } from './run-summary-schema.ts';

/** That of the config. */
const MAX_CUTOFF = 1000;

const outcomeField = z.enum(queryOutcomes);

const metricKeyField = z
  .string()
  .max(100)
  .refine((text) => isMetricAtCutoff(text), { error: 'must be a metric with a cut-off such as ndcg@10' });

export const newGoldenRunSchema = z.strictObject({
  pipeline: nameSchema.describe('Pipeline of the config.'),
  golden_set: nameSchema.describe('Its latest version is run.'),
});

const goldenRunStatusSchema = z.object({ run_id: z.string(), status: runStatusField });

export const goldenRunParams = z.strictObject({ id: idField });

export const comparedRunsParams = z.strictObject({ baseline: idField, candidate: idField });

export const goldenRunListQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Only those of this pipeline.'),
  golden_set: nameSchema.optional().describe('Only those of this golden set.'),
  status: runStatusField.optional().describe('Only those in this status.'),
  limit: limitField(100, 20),
  cursor: pageQueryShape.cursor,
});

export const goldenRunSchema = z.object({
  run_id: z.string(),
  pipeline: z.string(),
  golden_set: z.string(),
  golden_set_version: z.int(),
  trigger: z.string(),
  status: runStatusField,
  reason: z.string().nullable(),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  query_count: z.int(),
  metrics: metricsSchema.describe('Over all queries; none unless it completed.'),
  verdict: verdictField,
});

export const runQueriesQuery = z.strictObject({
  outcome: outcomeField.optional().describe('Only queries that came to this.'),
  order_by: metricKeyField
    .optional()
    .describe('Lowest first by this metric, such as `ndcg@10`; left out, in the order of the set.'),
  ...numberedPageShape,
});

export const runQuerySchema = goldenQuerySchema.extend({
  outcome: outcomeField.nullable().describe('Null while it has no answer.'),
  documents: z
    .array(z.object({ id: z.string(), score: z.number().nullable() }))
    .describe('As the retriever ranked them.'),
  latency_ms: z.number().nullable(),
  attempts: z.int(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  stale_documents: z.array(z.string()).describe('Judged documents that are gone from the store.'),
  metrics: z.record(z.string(), z.number()).describe('Its scores; a query without an answer scores 0.'),
});

export const compareQuery = z.strictObject({
  by: metricKeyField.optional().describe('Orders the queries; left out, nDCG at the largest cut-off of the candidate.'),
  ...numberedPageShape,
});

const changedQuerySchema = z.object({
  query_id: z.string(),
  text: z.string(),
  baseline: z.number(),
  candidate: z.number(),
  difference: z.number(),
  newly_empty: z.boolean().describe('It had documents before and has none now.'),
});

const runComparisonSchema = z.object({
  baseline_run_id: z.string(),
  candidate_run_id: z.string(),
  ...comparedShape,
  ordered_by: z.string(),
  queries: z.array(changedQuerySchema).describe('A page of those that changed, most regressed first.'),
  next_cursor: nextCursor,
});

export const newBaselineSchema = z.strictObject({
  run_id: idField.describe('A completed run.'),
  note: shortText.optional().describe('Why, in short.'),
  with_failures: z.boolean().optional().describe('Pin it even if queries of it failed; they count 0 in the baseline.'),
});

export const baselineParams = z.strictObject({ pipeline: nameSchema, golden_set: nameSchema });

export const baselineSchema = z.object({
  pipeline: z.string(),
  golden_set: z.string(),
  run_id: z.string(),
  note: z.string().nullable(),
  left_out: z
    .array(z.object({ run_id: z.string(), reason: z.string() }))
    .describe('Runs that its noise was not learned from, each with the reason.'),
  pinned_at: z.iso.datetime(),
});

const unpinnedSchema = z.object({ pipeline: z.string(), golden_set: z.string() });

export function changedQueries(queries: readonly ChangedQuery[]) {
  return toWire(
    z.array(changedQuerySchema),
    queries.map(({ isNewlyEmpty: newlyEmpty, ...query }) => ({ ...query, newlyEmpty })),
  );
}

function isMetricAtCutoff(text: string): boolean {
  try {
    const { measure, k } = parseMetricKey(text);
    return runMeasures.includes(measure) && k !== null && k <= MAX_CUTOFF;
  } catch (error) {
    if (error instanceof RecalldError) return false;
    throw error;
  }
}

export const goldenEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/golden-sets',
    tag: 'golden',
    summary: 'The latest version of every golden set, by name.',
    scope: 'read',
    query: goldenSetListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(goldenSetVersionSchema) } },
  },
  {
    method: 'get',
    path: '/v1/golden-sets/{name}',
    tag: 'golden',
    summary: 'A version of a golden set with its queries, and what other versions there are.',
    scope: 'read',
    params: goldenSetParams,
    query: goldenSetQuery,
    body: null,
    responses: { '200': { description: 'The set with a page of its queries.', body: goldenSetSchema } },
  },
  {
    method: 'post',
    path: '/v1/golden-sets/{name}/versions',
    tag: 'golden',
    summary: 'Import queries with their judgments as a new version. The same content again changes nothing.',
    scope: 'admin',
    params: goldenSetParams,
    body: newGoldenSetSchema,
    responses: {
      '200': { description: 'The latest version already has this content.', body: importedGoldenSetSchema },
      '201': { description: 'A new version.', body: importedGoldenSetSchema },
    },
  },
  {
    method: 'get',
    path: '/v1/golden-runs',
    tag: 'golden',
    summary: 'Golden runs, newest first.',
    scope: 'read',
    query: goldenRunListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(goldenRunSchema) } },
  },
  {
    method: 'post',
    path: '/v1/golden-runs',
    tag: 'golden',
    summary: 'Run a golden set now. The workers take it; its state is at the address in Location.',
    scope: 'admin',
    body: newGoldenRunSchema,
    responses: { '202': { description: 'It is stored and will be run.', body: goldenRunStatusSchema } },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{id}',
    tag: 'golden',
    summary: 'A golden run: its scores by segment, its checks, and how it compares with its baseline.',
    scope: 'read',
    params: goldenRunParams,
    body: null,
    responses: { '200': { description: 'The run.', body: runSummarySchema } },
  },
  {
    method: 'post',
    path: '/v1/golden-runs/{id}/cancel',
    tag: 'golden',
    summary: 'End a running golden run as cancelled; whoever works on it stops within seconds.',
    scope: 'admin',
    params: goldenRunParams,
    body: null,
    responses: { '200': { description: 'It is cancelled.', body: goldenRunStatusSchema } },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{id}/queries',
    tag: 'golden',
    summary: 'What became of each query of a golden run, with its scores and stale labels.',
    scope: 'read',
    params: goldenRunParams,
    query: runQueriesQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(runQuerySchema) } },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{baseline}/compare/{candidate}',
    tag: 'golden',
    summary: 'Two completed runs side by side. Segments are there when the two were compared as the candidate ended.',
    scope: 'read',
    params: comparedRunsParams,
    query: compareQuery,
    body: null,
    responses: { '200': { description: 'The candidate against the baseline.', body: runComparisonSchema } },
  },
  {
    method: 'post',
    path: '/v1/baselines',
    tag: 'golden',
    summary: 'Pin a completed run as the baseline of its pipeline and golden set, in place of the one before.',
    scope: 'admin',
    body: newBaselineSchema,
    responses: { '201': { description: 'Pinned.', body: baselineSchema } },
  },
  {
    method: 'delete',
    path: '/v1/baselines/{pipeline}/{golden_set}',
    tag: 'golden',
    summary: 'Unpin the baseline of a pipeline and golden set.',
    scope: 'admin',
    params: baselineParams,
    body: null,
    responses: { '200': { description: 'Unpinned.', body: unpinnedSchema } },
  },
];
