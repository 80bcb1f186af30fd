/** `POST /v1/mcp`: the tools of the Model Context Protocol over HTTP, a request at a time. */
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { personOf } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import { type ApiScope, allows } from '../../platform/access/credentials.ts';
import type { Endpoint } from '../../platform/http/wire.ts';

export const mcpEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/mcp',
    tag: 'status',
    summary: 'The tools of `recalld mcp` for assistants, by the Model Context Protocol over HTTP without sessions.',
    scope: 'read',
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    responses: { '200': { description: 'A JSON-RPC answer; that of a notification is 202, empty.', body: null } },
  },
];

export function addMcp(
  app: FastifyInstance,
  context: Context,
  authentication: AuthenticationSettings,
  version: string,
): void {
  let opening: Promise<OpenMcp> | null = null;
  app.addHook('onClose', async () => (await opening)?.handler.close());
  app.post('/v1/mcp', { preParsing: requireScope('read', authentication) }, async (request, reply) => {
    opening ??= openHandler(context, version);
    const { handler, explainedBy } = await opening;
    const explained = explainedBy(request.body);
    if (explained > 0) context.explainBudget.spend(personOf(request), explained);
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const asked = new Request(new URL(request.url, 'http://recalld'), {
      method: 'POST',
      headers: Object.entries(request.headers).filter((one): one is [string, string] => typeof one[1] === 'string'),
      signal: gone.signal,
    });
    return reply.send(await handler.fetch(asked, { parsedBody: request.body, ...authOf(request.apiKey) }));
  });
}

/** What the tools may know of the key of a call; none where none is needed. */
function authOf(key: FastifyRequest['apiKey']): { readonly authInfo?: AuthInfo } {
  if (key === null || key === 'unknown') return {};
  return { authInfo: { token: '', clientId: key.id, scopes: [...key.scopes] } };
}

type OpenMcp = Awaited<ReturnType<typeof openHandler>>;

/** Loaded by the first call: most daemons are never asked, and it would take a tenth of a second of every start. */
async function openHandler(context: Context, version: string) {
  const [{ createMcpHandler }, { createMcpServer, explainedBy }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('../tools.ts'),
  ]);
  const handler = createMcpHandler(({ authInfo }) => {
    const choosesTags = authInfo === undefined || allows(authInfo.scopes as ApiScope[], 'admin');
    return createMcpServer(context, version, choosesTags);
  });
  return {
    handler,
    /** Queries that a request may have explained. */
    explainedBy,
  };
}
