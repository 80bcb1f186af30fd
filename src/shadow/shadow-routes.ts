/** `/v1/shadows`: what is known of the shadows of a pipeline. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { findPipeline, type WatchedPipeline } from '../golden/watched-pipeline.ts';
import { identifier, parseRequest } from '../http/fields.ts';
import type { Endpoint } from '../http/wire.ts';
import { shadowVerdicts } from './rules/looks.ts';
import { findShadow, type ReadShadowDeps, readShadow, shadowJson } from './shadow-reads.ts';

const shadowsQuery = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  shadow: identifier.optional().describe('Only the shadow of this name.'),
});

const share = z
  .object({ value: z.number(), ci_low: z.number(), ci_high: z.number(), n: z.int() })
  .nullable()
  .describe('By inverse probabilities, with 95 % bounds; null while nothing was asked.');
const number = z.number().nullable();

const evidence = z.object({
  state: z.enum(['decided', 'enough', 'days', 'more_questions', 'unknown']),
  days: z.int().nullable(),
  questions: z.int().nullable(),
  explanation: z.string(),
});

const judged = z
  .object({
    verdict: z.enum(shadowVerdicts),
    measure: z.string(),
    days: z.int().describe('With graded queries.'),
    last_day: z.iso.date().nullable().describe('A day (UTC) is added when it is over, and never changed.'),
    queries: z.int(),
    sessions: z.int(),
    left_out: z.int().describe('The shadow failed, or a document of either list could not be read or graded.'),
    baseline: number.describe('Of what users got, over all live traffic.'),
    candidate: number,
    difference: number,
    ci_low: number.describe('The bounds hold whenever somebody looks, at the part of 0.01 that this verdict has.'),
    ci_high: number,
    decided_on: z.iso.date().nullable(),
    smallest_detectable_difference: number.describe('By now, with a chance of 0.8.'),
    evidence,
  })
  .nullable()
  .describe('By the judge of live queries; null where it grades nothing beside what users got.');

const reportSchema = z.object({
  pipeline: z.string(),
  shadow: z.string(),
  verdict: z
    .enum(shadowVerdicts)
    .describe(
      '`worse` when any golden set or judged live relevance says so; else by the golden sets, and without any by judged live relevance.',
    ),
  explanation: z.string(),
  difference: z.number().describe('Difference of nDCG that is to be found.'),
  golden: z.array(
    z.object({
      golden_set: z.string(),
      verdict: z.enum(shadowVerdicts),
      measure: z.string().nullable(),
      version: z.int().nullable(),
      queries: z.int(),
      runs: z.int().describe('Pairs of runs that the questions are averaged over.'),
      baseline: number,
      candidate: number,
      difference: number,
      ci_low: number,
      ci_high: number,
      ci_method: z.string().nullable(),
      p: number,
      alpha: number.describe('Level of the test; all tests that ever come have 0.01 together.'),
      tests: z.int(),
      decided_at: z.iso.datetime().nullable(),
      smallest_detectable_difference: number.describe('At the latest test, with a chance of 0.8.'),
      evidence,
      run_id: z.string().nullable(),
      baseline_run_id: z.string().nullable(),
      latest_run: z.object({ run_id: z.string(), status: z.string(), reason: z.string().nullable() }).nullable(),
      latency_p95_ms: z.object({ shadow: number, pipeline: number }),
    }),
  ),
  judged,
  live: z.object({
    days: z.int(),
    asked: z.int(),
    failed: z.int(),
    overlap: share,
    changed: share,
    latency_ms: z.object({ median: z.number(), p95: z.number() }).nullable(),
  }),
  calls: z.object({
    today: z.int(),
    max_per_day: z.int(),
    max_live_per_day: z.int(),
    dollars_today: z.number(),
    dollars_per_1000: z.number(),
  }),
});

export const shadowEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/shadows',
    tag: 'golden',
    summary: 'Whether the shadows of a pipeline are better or worse, and when there will be enough evidence.',
    scope: 'read',
    query: shadowsQuery,
    body: null,
    responses: { '200': { description: 'A report each.', body: z.object({ items: z.array(reportSchema) }) } },
  },
];

export interface ShadowRouteDeps extends ReadShadowDeps {
  readonly authentication: AuthenticationSettings;
  readonly pipelines: readonly WatchedPipeline[];
}

export function addShadows(app: FastifyInstance, deps: ShadowRouteDeps): void {
  app.get('/v1/shadows', { preParsing: requireScope('read', deps.authentication) }, async (request) => {
    const { pipeline: name, shadow } = parseRequest(request.query, shadowsQuery, 'query');
    const pipeline = findPipeline(deps.pipelines, name);
    const wanted = shadow === undefined ? pipeline.shadows : [findShadow(pipeline, shadow)];
    const items = [];
    for (const one of wanted) items.push(shadowJson(await readShadow(deps, pipeline, one)));
    return { items };
  });
}
