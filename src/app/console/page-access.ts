/** The routes of the console, and how they handle API keys that are restricted to specific pipelines. */
import type { ApiScope } from '../../platform/access/credentials.ts';
import type { PipelineAccess } from '../../platform/access/pipeline-access.ts';

/** Pages of the console. A page whose form queries the retriever also has a POST route. */
export const pageAccess = {
  '/': 'list',
  '/pipelines/:pipeline': 'named',
  '/pipelines/:pipeline/golden': 'named',
  '/pipelines/:pipeline/golden/:set/labels': 'named',
  '/pipelines/:pipeline/density': 'named',
  '/pipelines/:pipeline/traffic': 'named',
  '/pipelines/:pipeline/index': 'named',
  '/pipelines/:pipeline/judge': 'named',
  '/pipelines/:pipeline/experiments': 'named',
  '/checks': 'list',
  '/deployments': 'list',
  '/incidents/:incident': 'id',
  '/runbooks/:alert': 'none',
  '/runs/:run': 'id',
  '/runs/:run/queries/:query': 'id',
} as const satisfies Readonly<Record<string, PipelineAccess>>;

const formAccess = {
  '/actions/pin-baseline': 'id',
  '/actions/annotate': 'id',
  '/actions/acknowledge': 'id',
  '/actions/silence': 'named',
  '/actions/end-silence': 'id',
  '/actions/mark-cause': 'id',
  '/pipelines/:pipeline/judge/grade': 'named',
  '/pipelines/:pipeline/density': 'named',
  '/pipelines/:pipeline/index': 'named',
  '/pipelines/:pipeline/golden/:set/labels': 'named',
  '/pipelines/:pipeline/golden/:set/labels/accept': 'named',
  '/runs/:run': 'id',
  '/runs/:run/queries/:query': 'id',
} as const satisfies Readonly<Record<string, PipelineAccess>>;

const openAccess = {
  'GET /sign-in': 'none',
  'GET /sign-in/provider': 'none',
  'GET /sign-in/callback': 'none',
  'POST /sign-in': 'none',
  'POST /sign-out': 'none',
  'GET /charts/:name': 'link',
  'GET /style.css': 'none',
  'GET /pages.js': 'none',
  'GET /icon.svg': 'none',
} as const satisfies Readonly<Record<string, PipelineAccess>>;

export const consoleRoutes = [
  ...listed(pageAccess, 'GET ', 'read'),
  ...listed(formAccess, 'POST ', 'admin'),
  ...listed(openAccess, '', null),
];

function listed(routes: Readonly<Record<string, PipelineAccess>>, prefix: string, scope: ApiScope | null) {
  return Object.entries(routes).map(([path, pipelines]) => ({ route: `${prefix}${path}`, scope, pipelines }));
}
