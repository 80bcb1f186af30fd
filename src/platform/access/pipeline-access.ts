/** What an API key that is limited to pipelines gets from each route. */
import type { FastifyRequest } from 'fastify';
import type { Context } from '../../core/context.ts';

/** Every route and every MCP tool declares one of these. */
export const pipelineAccess = {
  named: 'Only for a pipeline of the key. Any other name is answered like an unknown one.',
  id: 'Only for ids of its pipelines. Any other id is answered like an unknown one.',
  golden_set: 'Only for golden sets that its pipelines use, and changes only those that no other pipeline uses.',
  list: 'Only what belongs to its pipelines.',
  items: 'Items of its pipelines are stored. Any other item is rejected like an item of an unknown pipeline.',
  tools: 'Each tool as listed below.',
  metrics: 'Only series of its pipelines, and the metrics of recalld that count nothing of others.',
  refused: 'Refused, because it affects all pipelines.',
  link: 'The key in the link is the permission, for this one chart.',
  none: 'Everything; it has no data of a pipeline.',
} as const;

export type PipelineAccess = keyof typeof pipelineAccess;

/** Returns the context of a request: everything, or only what belongs to the pipelines of its API key. */
export type ContextOf = (request: FastifyRequest) => Context;

/** Returns the pipelines to which the API key of a call or of a console session is limited; null means all. */
export function pipelinesOf({ apiKey, visitor }: FastifyRequest): readonly string[] | null {
  // Console routes have a visitor and no key; API routes have a key and no visitor.
  const key = typeof apiKey === 'object' && apiKey !== null ? apiKey : null;
  return key?.pipelines ?? visitor?.key?.pipelines ?? null;
}
