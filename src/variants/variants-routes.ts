/** `/v1/variants`: what users make of the variants of a service. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { identifier, parseRequest } from '../http/fields.ts';
import type { Endpoint } from '../http/wire.ts';
import { splitVerdicts, variantMeasures, variantVerdicts } from './rules/compare-arms.ts';
import { findVariants, type ReadVariantsDeps, readVariants, variantsJson } from './variants-reads.ts';

const variantsQuery = z.strictObject({ pipeline: identifier.describe('Pipeline whose config has `variants`.') });

const day = z.iso.date().nullable();
const number = z.number().nullable();
const ratio = z
  .object({ value: z.number(), standard_error: z.number(), n: z.int().describe('Sessions a day.') })
  .nullable();

const reportSchema = z.object({
  pipeline: z.string(),
  tag: z.string(),
  first_day: day,
  last_day: day,
  split: z.object({
    verdict: z.enum(splitVerdicts).describe('`mismatch`: sessions are missing, so that nothing else is said.'),
    explanation: z.string(),
    called_on: day,
    arms: z.array(z.object({ name: z.string(), sessions: z.int(), share: number, declared: z.number() })),
    mixed_sessions: z.int().describe('That saw more than one arm; in none.'),
    unnamed_sessions: z.int().describe('With a value of the tag that is no arm.'),
  }),
  control: z.string().describe('The arm that the others are held against.'),
  difference: z.number().describe('That matters.'),
  confidence: z.number().describe('Of all bounds together, at all looks.'),
  arms: z.array(
    z.object({
      name: z.string(),
      verdict: z.enum(variantVerdicts),
      explanation: z.string(),
      measures: z.array(
        z.object({
          measure: z.enum(variantMeasures),
          verdict: z.enum(variantVerdicts),
          control: ratio,
          arm: ratio,
          difference: number.describe('Of the arm less the control.'),
          ci_low: number,
          ci_high: number,
          called_on: day.describe('The first day after which it was worse or better.'),
        }),
      ),
    }),
  ),
});

export const variantEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/variants',
    tag: 'status',
    summary: 'Whether sessions are split between the variants as declared, and which of them users fare better with.',
    scope: 'read',
    query: variantsQuery,
    body: null,
    responses: { '200': { description: 'The report.', body: reportSchema } },
  },
];

export interface VariantRouteDeps extends ReadVariantsDeps {
  readonly authentication: AuthenticationSettings;
  assertPipeline(name: string): void;
}

export function addVariants(app: FastifyInstance, deps: VariantRouteDeps): void {
  app.get('/v1/variants', { preParsing: requireScope('read', deps.authentication) }, async (request) => {
    const { pipeline } = parseRequest(request.query, variantsQuery, 'query');
    deps.assertPipeline(pipeline);
    return variantsJson(await readVariants(deps, findVariants(deps.variantPlans, pipeline)));
  });
}
