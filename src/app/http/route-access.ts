/**
 * How each route of the server handles API keys that are restricted to specific pipelines. The server does not start if
 * a route has no declaration. docs/reference/access.md is generated from this table.
 */
import type { ApiScope } from '../../platform/access/credentials.ts';
import type { PipelineAccess } from '../../platform/access/pipeline-access.ts';
import { consoleRoutes } from '../console/page-access.ts';
import { endpoints } from './openapi.ts';

export interface RouteAccess {
  /** Method and path in Fastify's notation, such as `GET /v1/golden-runs/:id`. */
  readonly route: string;
  /** API key scope that the route requires; null if it requires no key. */
  readonly scope: ApiScope | null;
  readonly pipelines: PipelineAccess;
}

export const routeAccess: readonly RouteAccess[] = [
  ...endpoints.map(({ method, path, scope, pipelines }) => ({
    route: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    scope,
    pipelines,
  })),
  { route: 'GET /openapi.json', scope: null, pipelines: 'none' },
  ...consoleRoutes,
];

const byRoute = new Map(routeAccess.map((one) => [anonymous(one.route), one]));

/** Removes the names of parameters, because the documentation and the code name parameters differently. */
function anonymous(route: string): string {
  return route.replaceAll(/:\w+/g, ':');
}

/** @throws Error for a route that is not declared, which is a bug */
export function accessOf(method: string, path: string): RouteAccess {
  const found = byRoute.get(anonymous(`${method === 'HEAD' ? 'GET' : method} ${path}`));
  if (found !== undefined) return found;
  throw new Error(
    `${method} ${path} does not declare how it handles API keys that are restricted to specific pipelines: add it to the endpoints of its subject, or to app/console/page-access.ts`,
  );
}
