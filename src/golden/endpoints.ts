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

const MAX_CUTOFF = 1000;

const outcomeField = z.enum(queryOutcomes);

const metricKeyField = z
  .string()
  .max(100)
  .refine((text) => isMetricAtCutoff(text), { error: 'must be a metric with a cutoff, such as ndcg@10' });

export const newGoldenRunSchema = z.strictObject({
  pipeline: nameSchema.describe('Name of a pipeline in the config.'),
  golden_set: nameSchema.describe('Golden set to run; the latest version is used.'),
});

const goldenRunStatusSchema = z.object({ run_id: z.string(), status: runStatusField });

export const goldenRunParams = z.strictObject({ id: idField });

export const comparedRunsParams = z.strictObject({ baseline: idField, candidate: idField });

export const goldenRunListQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Return only runs of this pipeline.'),
  golden_set: nameSchema.optional().describe('Return only runs of this golden set.'),
  status: runStatusField.optional().describe('Return only runs with this status.'),
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
  metrics: metricsSchema.describe('Means over all queries; empty unless the run completed.'),
  verdict: verdictField,
});

export const runQueriesQuery = z.strictObject({
  outcome: outcomeField.optional().describe('Return only queries with this outcome.'),
  order_by: metricKeyField
    .optional()
    .describe('Sorts by this metric, such as `ndcg@10`, lowest first. Default: the order of the set.'),
  ...numberedPageShape,
});

export const runQuerySchema = goldenQuerySchema.extend({
  outcome: outcomeField.nullable().describe('Outcome of the query; null until the query has been run.'),
  documents: z
    .array(
      z.object({
        id: z.string(),
        score: z.number().nullable(),
        step: z
          .int()
          .exactOptional()
          .describe(
            'Number of the step that returned the document, counted from 1; omitted for a query without steps.',
          ),
      }),
    )
    .describe(
      'Results in the order in which the retriever returned them. With steps: rank 1 of each step, then rank 2 of each step, and so on.',
    ),
  latency_ms: z.number().nullable(),
  attempts: z.int(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  stale_documents: z.array(z.string()).describe('Judged documents that are missing from the store.'),
  metrics: z.record(z.string(), z.number()).describe('Scores of the query; 0 if it failed.'),
});

export const compareQuery = z.strictObject({
  by: metricKeyField
    .optional()
    .describe('Metric by which the queries are sorted. Default: nDCG at the largest cutoff of the candidate.'),
  ...numberedPageShape,
});

const changedQuerySchema = z.object({
  query_id: z.string(),
  text: z.string(),
  baseline: z.number(),
  candidate: z.number(),
  difference: z.number(),
  newly_empty: z
    .boolean()
    .describe('True if the query returned documents in the baseline run but none in the candidate run.'),
});

const runComparisonSchema = z.object({
  baseline_run_id: z.string(),
  candidate_run_id: z.string(),
  ...comparedShape,
  ordered_by: z.string(),
  queries: z.array(changedQuerySchema).describe('A page of the changed queries, most regressed first.'),
  next_cursor: nextCursor,
});

export const newBaselineSchema = z.strictObject({
  run_id: idField.describe('A completed run.'),
  note: shortText.optional().describe('Short reason for pinning the run.'),
  with_failures: z
    .boolean()
    .optional()
    .describe('Pins the run even if some of its queries failed; failed queries count as 0 in the baseline.'),
});

export const baselineParams = z.strictObject({ pipeline: nameSchema, golden_set: nameSchema });

export const baselineSchema = z.object({
  pipeline: z.string(),
  golden_set: z.string(),
  run_id: z.string(),
  note: z.string().nullable(),
  excluded_runs: z
    .array(z.object({ run_id: z.string(), reason: z.string() }))
    .describe('Runs excluded from the measurement of retriever noise, each with the reason.'),
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

const own: readonly (Omit<Endpoint, 'tag' | 'body'> & Partial<Pick<Endpoint, 'body'>>)[] = [
  {
    method: 'get',
    path: '/v1/golden-sets',
    summary: 'The latest version of every golden set, by name.',
    scope: 'read',
    pipelines: 'golden_set',
    query: goldenSetListQuery,
    responses: { '200': { description: 'A page of golden sets.', body: pageOf(goldenSetVersionSchema) } },
  },
  {
    method: 'get',
    path: '/v1/golden-sets/{name}',
    summary: 'A version of a golden set with its queries, and a list of its versions.',
    scope: 'read',
    pipelines: 'golden_set',
    params: goldenSetParams,
    query: goldenSetQuery,
    responses: { '200': { description: 'The set with a page of its queries.', body: goldenSetSchema } },
  },
  {
    method: 'post',
    path: '/v1/golden-sets/{name}/versions',
    summary: 'Import queries with judgments as a new version. Importing the same content again changes nothing.',
    scope: 'admin',
    pipelines: 'golden_set',
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
    summary: 'Golden runs, newest first.',
    scope: 'read',
    pipelines: 'list',
    query: goldenRunListQuery,
    responses: { '200': { description: 'A page of runs.', body: pageOf(goldenRunSchema) } },
  },
  {
    method: 'post',
    path: '/v1/golden-runs',
    summary: 'Start a golden run. Workers execute the run; the Location header contains the address of its status.',
    scope: 'admin',
    pipelines: 'named',
    body: newGoldenRunSchema,
    responses: {
      '202': { description: 'recalld has stored the run, and a worker will execute it.', body: goldenRunStatusSchema },
    },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{id}',
    summary: 'A golden run: its scores by segment, its checks, and its comparison with the baseline.',
    scope: 'read',
    pipelines: 'id',
    params: goldenRunParams,
    responses: { '200': { description: 'The run.', body: runSummarySchema } },
  },
  {
    method: 'post',
    path: '/v1/golden-runs/{id}/cancel',
    summary: 'Cancel a running golden run. The worker stops within seconds.',
    scope: 'admin',
    pipelines: 'id',
    params: goldenRunParams,
    responses: { '200': { description: 'The run is cancelled.', body: goldenRunStatusSchema } },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{id}/queries',
    summary: 'The queries of a golden run with their outcomes, scores and stale labels.',
    scope: 'read',
    pipelines: 'id',
    params: goldenRunParams,
    query: runQueriesQuery,
    responses: { '200': { description: 'A page of queries.', body: pageOf(runQuerySchema) } },
  },
  {
    method: 'get',
    path: '/v1/golden-runs/{baseline}/compare/{candidate}',
    summary:
      'Compare two completed runs. The response includes segments only if recalld already compared these two runs when the candidate completed.',
    scope: 'read',
    pipelines: 'id',
    params: comparedRunsParams,
    query: compareQuery,
    responses: { '200': { description: 'Comparison of the candidate with the baseline.', body: runComparisonSchema } },
  },
  {
    method: 'post',
    path: '/v1/baselines',
    summary: 'Pin a completed run as the baseline of its pipeline and golden set. Replaces the previous baseline.',
    scope: 'admin',
    pipelines: 'id',
    body: newBaselineSchema,
    responses: { '201': { description: 'Pinned.', body: baselineSchema } },
  },
  {
    method: 'delete',
    path: '/v1/baselines/{pipeline}/{golden_set}',
    summary: 'Unpin the baseline of a pipeline and golden set.',
    scope: 'admin',
    pipelines: 'named',
    params: baselineParams,
    responses: { '200': { description: 'Unpinned.', body: unpinnedSchema } },
  },
];

export const goldenEndpoints: readonly Endpoint[] = own.map((one) => ({ tag: 'golden', body: null, ...one }));
