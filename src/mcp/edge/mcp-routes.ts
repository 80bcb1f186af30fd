/** `POST /v1/mcp`: serves Model Context Protocol tools over HTTP, one request at a time. */

import type { AuthInfo } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../core/context.ts';
import { personOf } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import { allows } from '../../platform/access/credentials.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import type { Endpoint } from '../../platform/http/wire.ts';

export const mcpEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/mcp',
    tag: 'status',
    summary: 'Serves the tools of `recalld mcp` to assistants: stateless Model Context Protocol over HTTP.',
    scope: 'read',
    pipelines: 'tools',
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    responses: { '200': { description: 'A JSON-RPC response; a notification gets 202 without a body.', body: null } },
  },
];

export function addMcp(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
  version: string,
): void {
  let opening: Promise<OpenMcp> | null = null;
  app.addHook('onClose', async () => (await opening)?.handler.close());
  app.post('/v1/mcp', { preParsing: requireScope('read', authentication) }, async (request, reply) => {
    const context = contextOf(request);
    opening ??= openHandler(version);
    const { handler, explainedBy } = await opening;
    const explained = explainedBy(request.body);
    if (explained > 0) context.explainBudget.spend(personOf(request), explained);
    const closed = new AbortController();
    reply.raw.once('close', () => closed.abort());
    const asked = new Request(new URL(request.url, 'http://recalld'), {
      method: 'POST',
      headers: Object.entries(request.headers).filter((one): one is [string, string] => typeof one[1] === 'string'),
      signal: closed.signal,
    });
    return reply.send(await handler.fetch(asked, { parsedBody: request.body, authInfo: authOf(request, context) }));
  });
}

/** Returns what the caller may see, and the permissions that its API key grants to tools. */
function authOf({ apiKey }: FastifyRequest, context: Context): AuthInfo {
  const key = apiKey === 'unknown' ? null : apiKey;
  const granted: Granted = { context, choosesTags: key === null || allows(key.scopes, 'admin') };
  return { token: '', clientId: key?.id ?? '', scopes: [...(key?.scopes ?? [])], extra: { granted } };
}

interface Granted {
  readonly context: Context;
  readonly choosesTags: boolean;
}

type OpenMcp = Awaited<ReturnType<typeof openHandler>>;

/** Loads the handler on the first call, because most daemons never need it and loading takes a tenth of a second. */
async function openHandler(version: string) {
  const [{ createMcpHandler }, { createMcpServer, explainedBy }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('../tools.ts'),
  ]);
  const handler = createMcpHandler(({ authInfo }) => {
    const granted = authInfo?.extra?.['granted'] as Granted | undefined;
    if (granted === undefined) throw new Error('an MCP request was not authorized');
    return createMcpServer(granted.context, version, granted.choosesTags);
  });
  return {
    handler,
    explainedBy,
  };
}
