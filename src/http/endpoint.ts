/** What is told of an endpoint: what it does, what it takes and gives. */
import type { z } from 'zod';
import type { ApiScope } from '../access/api-keys.ts';

export const endpointTags = {
  ingest: 'Live queries and feedback.',
  status: 'How pipelines, checks and feedback stand.',
  golden: 'Golden sets, runs, comparisons and baselines.',
  changes: 'What pipelines are made of, and when it changed.',
  judging: 'Grades of live queries.',
  density: 'How well the store covers what people ask.',
  privacy: 'Erasure.',
  operations: 'Health and metrics.',
} as const;

export type EndpointTag = keyof typeof endpointTags;

export interface Endpoint {
  readonly method: 'get' | 'post' | 'delete';
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly tag: EndpointTag;
  /** Null: nobody is asked who they are. */
  readonly scope: ApiScope | null;
  readonly body: z.ZodType | null;
  /** Parameters behind the question mark; left out, there are none. */
  readonly query?: z.ZodObject;
  /** Parameters in the path, where they are not any text. */
  readonly params?: z.ZodObject;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly body: z.ZodType | null }>>;
}
