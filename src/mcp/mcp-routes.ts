/** `POST /v1/mcp`: the tools of the Model Context Protocol over HTTP, a request at a time. */
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import type { Endpoint } from '../http/wire.ts';
import type { McpDeps } from './tools.ts';

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

export interface McpRouteDeps {
  readonly authentication: AuthenticationSettings;
  readonly mcp: McpDeps;
}

export function addMcp(app: FastifyInstance, { authentication, mcp }: McpRouteDeps, version: string): void {
  let opening: Promise<McpHttpHandler> | null = null;
  app.addHook('onClose', async () => (await opening)?.close());
  app.post('/v1/mcp', { preParsing: requireScope('read', authentication) }, async (request, reply) => {
    opening ??= openHandler(mcp, version);
    const handler = await opening;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const asked = new Request(new URL(request.url, 'http://recalld'), {
      method: 'POST',
      headers: Object.entries(request.headers).filter((one): one is [string, string] => typeof one[1] === 'string'),
      signal: gone.signal,
    });
    return reply.send(await handler.fetch(asked, { parsedBody: request.body }));
  });
}

/** Loaded by the first call: most daemons are never asked, and it would take a tenth of a second of every start. */
async function openHandler(mcp: McpDeps, version: string): Promise<McpHttpHandler> {
  const [{ createMcpHandler }, { createMcpServer }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('./tools.ts'),
  ]);
  return createMcpHandler(() => createMcpServer(mcp, version));
}
