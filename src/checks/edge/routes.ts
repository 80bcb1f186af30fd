/** `/v1/checks`: the state of every check, and its changes. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { onReplica } from '../../core/context.ts';
import { detectableShape, severityField, verdictField } from '../../golden/run-summary-schema.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { ageSeconds } from '../../measures/rules/measurement.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { nameSchema } from '../../platform/config/connection.ts';
import { numberedPageShape, parseRequest, sliceAt, toPage } from '../../platform/http/fields.ts';
import { toWire } from '../../platform/http/wire.ts';
import { readCheckStates } from '../check-store.ts';
import type { CheckState } from '../rules/check-state.ts';
import { isBlind } from '../rules/regression.ts';

export const checkStateSchema = z.object({
  pipeline: z.string(),
  golden_set: z.string().nullable().describe('Golden set whose runs the check evaluates; null for other checks.'),
  name: z.string(),
  severity: severityField,
  threshold: z.number(),
  verdict: verdictField.describe('`no_data` if the check has no value, or if its last evaluation is too old to trust.'),
  value: z.number().nullable(),
  ...detectableShape,
  explanation: z.string().nullable().describe('Explanation of the last evaluation.'),
  evaluated_at: z.iso.datetime().nullable(),
  age_seconds: z.number().describe('Seconds since the last evaluation.').nullable(),
  too_old: z.boolean().describe('True if the last evaluation is too old to trust.'),
  quiet: z
    .boolean()
    .describe(
      'True if data is missing for a harmless reason: too little traffic, or a baseline that is still being learned.',
    ),
});

export const transitionListQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Return only checks of this pipeline.'),
  check: z.string().min(1).max(300).optional().describe('Return only changes of the check with this name.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Return only changes at or after this time.'),
  ...numberedPageShape,
});

export const transitionSchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  check: z.string(),
  severity: severityField,
  from: verdictField.nullable().describe('Previous verdict; null for the first verdict of a check.'),
  to: verdictField,
  occurred_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable().describe('When the verdict changed again; null if it has not.'),
  threshold: z.number(),
  value: z.number().nullable(),
  segment: z
    .string()
    .nullable()
    .describe('The segment that decided the verdict; null unless several segments were evaluated.'),
  explanation: z.string(),
});

export const checkListQuery = z.strictObject({
  pipeline: nameSchema.optional().describe('Return only checks of this pipeline.'),
  verdict: verdictField.optional().describe('Return only checks with this verdict.'),
  ...numberedPageShape,
});

export function checkStateOf(check: CheckState, now: Date) {
  const { evaluatedAt, isTooOld: tooOld, isQuiet: quiet } = check;
  const age = evaluatedAt === null ? null : ageSeconds(evaluatedAt, now);
  return { ...check, tooOld, quiet, blind: isBlind(check), ageSeconds: age };
}

export function checkStateJson(check: CheckState, now: Date) {
  return toWire(checkStateSchema, checkStateOf(check, now));
}

export function addChecks(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/checks', read, async (request) => {
    const { pipeline, verdict, ...page } = parseRequest(request.query, checkListQuery, 'query');
    const context = contextOf(request);
    if (pipeline !== undefined) findPipeline(context.pipelines, pipeline);
    const states = (await readCheckStates(onReplica(context))).filter(
      (state) =>
        (pipeline === undefined || state.pipeline === pipeline) && (verdict === undefined || state.verdict === verdict),
    );
    const { items, next_cursor } = sliceAt(states, page);
    const now = context.clock.now();
    return { items: items.map((state) => checkStateJson(state, now)), next_cursor };
  });

  app.get('/v1/checks/transitions', read, async (request) => {
    const { pipeline, check, since, limit, cursor } = parseRequest(request.query, transitionListQuery, 'query');
    const { db, pipelines } = contextOf(request);
    if (pipeline !== undefined) findPipeline(pipelines, pipeline);
    const from = since === undefined ? undefined : new Date(since);
    const found = await db.checks.transitions({ pipeline, check, since: from, before: cursor, limit });
    return toPage(
      found,
      limit,
      (one) => toWire(transitionSchema, one),
      ({ id }) => id,
    );
  });
}
