/** `/v1/deployments`. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import type { Clock } from '../clock.ts';
import { parseRequest } from '../http/fields.ts';
import { toPage } from '../http/paging.ts';
import type { Deployments } from './deployments.ts';
import { deploymentJson, deploymentListQuery, newDeploymentSchema, toNewDeployment } from './schema.ts';

export interface DeploymentsDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  readonly deployments: Deployments;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

export function addDeployments(app: FastifyInstance, deps: DeploymentsDeps): void {
  const { authentication, clock, deployments } = deps;

  app.post(
    '/v1/deployments',
    { preParsing: requireScope('admin', authentication) },
    async (request, reply) => {
      const body = parseRequest(request.body, newDeploymentSchema, 'body');
      deps.assertPipeline(body.pipeline);
      const deployment = await deployments.annotate(toNewDeployment(body, clock.now()));
      return reply.code(201).send(deploymentJson(deployment));
    },
  );

  app.get('/v1/deployments', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, deploymentListQuery, 'query');
    const found = await deployments.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, deploymentJson, ({ id }) => id);
  });
}
