/** How each route treats an API key that is limited to certain pipelines. */
import type { FastifyRequest } from 'fastify';
import type { Context } from '../../core/context.ts';

/** Kinds of access; every route and every MCP tool declares one of them. */
export const pipelineAccess = {
  named: "Allowed only for the key's pipelines. Any other name gets the response for an unknown pipeline.",
  id: "Allowed only for ids in the key's pipelines. Any other id gets the response for an unknown id.",
  golden_set:
    "Allowed only for golden sets that the key's pipelines use. The key can change a golden set only if no other pipeline uses it.",
  list: "Returns only what belongs to the key's pipelines.",
  items: "recalld stores items for the key's pipelines, and rejects other items as if their pipeline were unknown.",
  tools: 'Each tool has its own rule, listed below.',
  metrics: "Returns only the series of the key's pipelines, and metrics that contain no pipeline data.",
  refused: 'recalld refuses the request, because it affects all pipelines.',
  link: 'The key in the link grants access to this one chart.',
  none: 'Returns everything, because the response contains no pipeline data.',
} as const;

export type PipelineAccess = keyof typeof pipelineAccess;

/**
 * Returns the context of a request. If the API key is limited to certain pipelines, the context contains only the data
 * of these pipelines.
 */
export type ContextOf = (request: FastifyRequest) => Context;

/** The sender of a request: an API key, or a visitor of the console. */
export type Caller = Pick<FastifyRequest, 'apiKey' | 'visitor'>;

/** Returns the valid API key of a call; null if there is none. A server without the API has no API keys. */
export function validKeyOf({ apiKey }: Caller) {
  return typeof apiKey === 'object' ? apiKey : null;
}

/** Returns the pipelines that the API key of a call or a console session is limited to; null means all. */
export function pipelinesOf(request: FastifyRequest): readonly string[] | null {
  // Console routes have a visitor and no key; API routes have a key and no visitor.
  return validKeyOf(request)?.pipelines ?? request.visitor?.key?.pipelines ?? null;
}
