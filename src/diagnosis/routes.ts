/** `/v1/diagnoses`. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { parseRequest } from '../http/fields.ts';
import { toPage } from '../http/paging.ts';
import type { Diagnoses } from './diagnoses.ts';
import { diagnosisJson, diagnosisListQuery } from './schema.ts';

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
