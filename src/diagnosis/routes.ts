/** `/v1/diagnoses`: what was likely behind the alarms of pipelines. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { identifier, parseRequest } from '../http/fields.ts';
import { numberedPageShape, toPage } from '../http/paging.ts';
import type { Diagnoses } from './diagnoses.ts';
import { causes, causeTexts, confidences } from './rules/cause.ts';
import type { Diagnosis, StoredDiagnosis } from './rules/episode.ts';
import type { Sign } from './rules/weights.ts';

const sign = z.object({ sign: z.string(), state: z.string(), sentence: z.string() });

const findingsShape = {
  pipeline: z.string(),
  cause: z.enum(causes).describe('`unknown` unless one cause is likelier than all others together.'),
  confidence: z.enum(confidences),
  probability: z.number().min(0).max(1).describe('Posterior of the cause.'),
  summary: z.string().max(300).describe('Cause, evidence and what to do first, for a line of a chat.'),
  action: z.string().describe('What to do first.'),
  alarms: z.array(z.string()).describe('Names of what is in alarm.'),
  run_id: z.string().nullable().describe('The golden run that was looked at.'),
  reference_run_id: z.string().nullable().describe('The good run that it was held against.'),
  causes: z
    .array(
      z.object({
        cause: z.enum(causes),
        probability: z.number().min(0).max(1),
        supporting: z.array(z.string()).describe('Evidence for it, the weightiest first.'),
        opposing: z.array(z.string()).describe('Evidence against it, the weightiest first.'),
      }),
    )
    .describe('The likeliest first; their probabilities sum to 1.'),
  signs: z.array(sign).describe('Everything that was read; what was not measured is not here.'),
};

export const diagnosisSchema = z.object({
  id: z.string(),
  opened_at: z.iso.datetime(),
  revised_at: z.iso.datetime(),
  closed_at: z.iso.datetime().nullable().describe('Null while it holds.'),
  ...findingsShape,
});

export type FindingsJson = z.infer<z.ZodObject<typeof findingsShape>>;
export type DiagnosisJson = z.infer<typeof diagnosisSchema>;

export const diagnosisListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only those of this pipeline.'),
  ...numberedPageShape,
});

export function findingsJson(diagnosis: Diagnosis): FindingsJson {
  const { pipeline, cause, confidence, probability, summary, alarms, runId, referenceRunId } = diagnosis;
  return {
    pipeline,
    cause,
    confidence,
    probability,
    summary,
    action: causeTexts[cause].action,
    alarms: [...alarms],
    run_id: runId,
    reference_run_id: referenceRunId,
    causes: diagnosis.ranked.map(({ supporting, opposing, ...ranked }) => ({
      ...ranked,
      supporting: sentencesOf(supporting),
      opposing: sentencesOf(opposing),
    })),
    signs: diagnosis.signs.map(({ name, state, sentence }) => ({ sign: name, state, sentence })),
  };
}

function sentencesOf(signs: readonly Sign[]): string[] {
  return signs.map(({ sentence }) => sentence);
}

export function diagnosisJson(diagnosis: StoredDiagnosis): DiagnosisJson {
  const { id, openedAt, revisedAt, closedAt } = diagnosis;
  return {
    id,
    opened_at: openedAt.toISOString(),
    revised_at: revisedAt.toISOString(),
    closed_at: closedAt?.toISOString() ?? null,
    ...findingsJson(diagnosis),
  };
}

export interface DiagnosesDeps {
  readonly authentication: AuthenticationSettings;
  readonly diagnoses: Pick<Diagnoses, 'list'>;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

export function addDiagnoses(app: FastifyInstance, deps: DiagnosesDeps): void {
  const read = { preParsing: requireScope('read', deps.authentication) };

  app.get('/v1/diagnoses', read, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, diagnosisListQuery, 'query');
    if (pipeline !== undefined) deps.assertPipeline(pipeline);
    const found = await deps.diagnoses.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, diagnosisJson, ({ id }) => id);
  });
}
