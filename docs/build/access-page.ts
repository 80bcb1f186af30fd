/** docs/reference/access.md: which routes each key can use, and what they return. */
import { type RouteAccess, routeAccess } from '../../src/app/http/route-access.ts';
import { mcpTools } from '../../src/mcp/tools.ts';
import { type ApiScope, allows, apiScopes } from '../../src/platform/access/credentials.ts';
import { pipelineAccess } from '../../src/platform/access/pipeline-access.ts';
import { sharedMetrics } from '../../src/platform/metrics/limit-metrics.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const intro = `Every route declares which scope it needs, and what it returns to an API key that is
restricted to specific pipelines (\`recalld keys create --pipelines a,b\`). The server does not start if a route
lacks this declaration.

- Without a key, routes return 401, and pages redirect to the sign-in. With a key that lacks the scope, routes return
  403 \`key_lacks_scope\`.
- A key that is restricted to specific pipelines cannot see or change other pipelines. If a request names another pipeline,
  or an id that belongs to it, the response is the same as for an unknown name or id: 404. A key for a pipeline also covers the pipeline's shadows.
- Console pages and forms need a session. A session has the scopes and pipelines of the API key with which the user signed
  in, or the scopes that the user's groups grant.
- \`recalld mcp\` and other commands use the database directly, so keys do not limit them.`;

export function accessPage(): Page {
  const rows = routeAccess.map((one) => [
    code(one.route.replaceAll(/:(\w+)/g, '{$1}')),
    isAllowed(one, null),
    ...apiScopes.map((scope) => isAllowed(one, scope)),
    one.pipelines,
  ]);
  const meanings = Object.entries(pipelineAccess).map(([name, meaning]) => [name, meaning]);
  return generatedPage(
    'docs/reference/access.md',
    ['src/app/http/route-access.ts', 'src/mcp/tools.ts'],
    [
      '# Access by route and key',
      intro,
      '## What a restricted key can access',
      table(['In the tables', 'Meaning'], meanings),
      '## Routes',
      table(['Route', 'No key', ...apiScopes.map(code), 'Key limited to pipelines'], rows),
      '## MCP tools',
      'All tools need the scope `read`.',
      table(
        ['Tool', 'Key limited to pipelines'],
        mcpTools.map(({ name, pipelines }) => [code(name), pipelines]),
      ),
      '## Metrics',
      `\`/metrics\` requires a key only if \`server.metrics_protected\` is true. With a key that is restricted to specific
pipelines, \`/metrics\` returns only the series whose label \`pipeline\` names one of these pipelines or their shadows, and
the following metrics, which do not depend on pipelines:
${sharedMetrics.map(code).join(', ')}. Such a key gets no other metrics without the label \`pipeline\`, such as the metrics of jobs and rejected items, because they cover
all pipelines together.`,
    ],
  );
}

function isAllowed({ scope: needed }: RouteAccess, scope: ApiScope | null): string {
  return needed === null || (scope !== null && allows([scope], needed)) ? 'yes' : '';
}
