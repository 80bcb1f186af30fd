/** Schemas of violations of isolation rules, for the HTTP API and `recalld isolation check --json`. */
import { z } from 'zod';
import { identifier, numberedPageShape } from '../../platform/http/fields.ts';
import { uncheckedReasons } from '../rules/isolation.ts';

const violationShape = {
  query_id: z.string(),
  segment: z.string().describe("The query's value for the segment of the rule, such as its tenant."),
  documents: z
    .array(z.object({ id: z.string(), rank: z.int().min(1) }))
    .describe('Documents that the rule does not allow, best rank first; at most 10.'),
  document_count: z.int().min(1).describe('Number of documents that the rule does not allow.'),
  occurred_at: z.iso.datetime(),
};

export const violationSchema = z.object({
  pipeline: z.string(),
  rule: z.string(),
  ...violationShape,
  received_at: z.iso.datetime(),
});

export const violationListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Return only violations of this pipeline.'),
  rule: identifier.optional().describe('Return only violations of this rule.'),
  ...numberedPageShape,
});

const count = z.int().min(0);

const replayedRule = z.object({
  rule: z.string(),
  allowed: count,
  violated: count,
  estimated_violations: z
    .number()
    .describe(
      'Estimated number of violations in all live traffic; each sampled violation is weighted by the inverse of its sampling probability.',
    ),
  unchecked: z
    .record(z.string(), count)
    .describe(`Number of queries that the rule could not check, by reason: ${uncheckedReasons.join(', ')}.`),
  violations: z.array(z.object(violationShape)),
});

export const isolationCheckSchema = z.object({
  from: z.iso.datetime(),
  until: z.iso.datetime(),
  violated: count.describe('Number of violations of all rules.'),
  pipelines: z.array(z.object({ pipeline: z.string(), queries: count, rules: z.array(replayedRule) })),
});
