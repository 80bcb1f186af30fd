/** `/v1/deployments`. */
import type { FastifyInstance } from 'fastify';
import {
  deploymentJson,
  deploymentListQuery,
  newDeploymentSchema,
  toNewDeployment,
} from '../contracts/http/deployment.ts';
import { toPage } from '../contracts/http/paging.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deployments } from '../ports/deployments.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { parseRequest } from './parse-request.ts';

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
    { preHandler: requireScope('admin', authentication) },
    async (request, reply) => {
      const body = parseRequest(request.body, newDeploymentSchema, 'body');
      deps.assertPipeline(body.pipeline);
      const deployment = await deployments.annotate(toNewDeployment(body, clock.now()));
      return reply.code(201).send(deploymentJson(deployment));
    },
  );

  app.get('/v1/deployments', { preHandler: requireScope('read', authentication) }, async (request) => {
    const { pipeline, limit, cursor } = parseRequest(request.query, deploymentListQuery, 'query');
    const found = await deployments.list({
      limit,
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    return toPage(found, limit, deploymentJson, ({ id }) => id);
  });
}
