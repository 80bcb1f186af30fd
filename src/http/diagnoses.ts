/** `/v1/diagnoses`. */
import type { FastifyInstance } from 'fastify';
import { diagnosisJson, diagnosisListQuery } from '../contracts/http/diagnosis.ts';
import { toPage } from '../contracts/http/paging.ts';
import type { Diagnoses } from '../ports/diagnoses.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { parseRequest } from './parse-request.ts';

export interface DiagnosesDeps {
  readonly authentication: AuthenticationSettings;
  readonly diagnoses: Pick<Diagnoses, 'list'>;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

export function addDiagnoses(app: FastifyInstance, deps: DiagnosesDeps): void {
  const read = { preHandler: requireScope('read', deps.authentication) };

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
