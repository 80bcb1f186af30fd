/**
 * The wire format of the HTTP API: descriptions of endpoints, responses with only the properties in their schema, and
 * errors as RFC 9457 problem documents. Only this file maps errors to HTTP statuses.
 */

import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type ErrorCode, type ErrorKind, errorTable, type RecalldError } from '../../core/errors.ts';
import { camelCase } from '../../core/text/names.ts';
import type { ApiScope } from '../access/credentials.ts';
import type { PipelineAccess } from '../access/pipeline-access.ts';

type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key;

/**
 * The program's type for a value of type `Wire`: names are in camelCase, and times may be `Date` objects.
 */
type Inside<Wire> = Wire extends string
  ? string extends Wire
    ? Wire | Date
    : Wire
  : Wire extends readonly (infer Item)[]
    ? readonly Inside<Item>[]
    : Wire extends object
      ? string extends keyof Wire
        ? { readonly [Key in keyof Wire]: Inside<Wire[Key]> } | ReadonlyMap<string, Inside<Wire[string]>>
        : { readonly [Key in keyof Wire as CamelCase<Key>]: Inside<Wire[Key]> }
      : Wire;

/**
 * Returns the wire form of a value. A snake_case name in the schema stands for the camelCase property. A date becomes
 * ISO 8601, and a number that is not finite becomes null. Properties that the schema does not name are omitted. Keys of
 * a record or a map are data and stay unchanged.
 *
 * @throws TypeError if a value is an object but its schema describes neither an object, a list nor a record
 */
export function toWire<Schema extends z.ZodType>(schema: Schema, value: Inside<z.output<Schema>>): z.output<Schema> {
  return wireOf(schema, value) as z.output<Schema>;
}

function wireOf(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object') return typeof value === 'number' && !Number.isFinite(value) ? null : value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return wireOf(schema.unwrap(), value);
  if (schema instanceof z.ZodArray) return (value as readonly unknown[]).map((item) => wireOf(schema.element, item));
  if (schema instanceof z.ZodRecord) {
    if (schema.valueType instanceof z.ZodUnknown) return value;
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [key, wireOf(schema.valueType, item)]));
  }
  if (schema instanceof z.ZodObject) {
    const from = value as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, field]) => [name, wireOf(field, from[camelCase(name)])]),
    );
  }
  throw new TypeError('the schema defines no wire form for an object');
}

export const endpointTags = {
  ingest: 'Live queries and feedback.',
  status: 'Status of pipelines, checks, feedback and indexes.',
  incidents: 'Incidents and silences.',
  golden: 'Golden sets, runs, comparisons and baselines.',
  experiments: 'Shadows and variants.',
  changes: 'Deployments and the audit log.',
  judging: 'Judgments of live queries.',
  density: 'Store coverage of live queries.',
  privacy: 'Erasure of queries and users.',
  operations: 'Health and metrics.',
} as const;

export type EndpointTag = keyof typeof endpointTags;

export interface Endpoint {
  readonly method: 'get' | 'post' | 'delete';
  /** Path with parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly tag: EndpointTag;
  /** Required scope; null if the endpoint needs no authentication. */
  readonly scope: ApiScope | null;
  /** How the endpoint treats an API key that is limited to certain pipelines. */
  readonly pipelines: PipelineAccess;
  readonly body: z.ZodType | null;
  readonly query?: z.ZodObject;
  /** Schema of the path parameters that do not accept arbitrary text. */
  readonly params?: z.ZodObject;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly body: z.ZodType | null }>>;
}

/** Retry-After value, in seconds, for a refused request. */
export const RETRY_AFTER_SECONDS = 2;
/** Retry-After value, in seconds, when a rate limit is exceeded, unless the limiter has set one. */
const WINDOW_SECONDS = 60;

const statusOfKind: Record<ErrorKind, number> = {
  input: 400,
  not_found: 404,
  conflict: 409,
  unauthorized: 401,
  forbidden: 403,
  too_large: 413,
  too_many: 429,
  unreachable: 503,
  interrupted: 503,
};

export interface Problem {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

export function problemOf(code: ErrorCode, detail: string): Problem {
  const { kind, meaning } = errorTable[code];
  return { type: 'about:blank', title: meaning, status: statusOfKind[kind], code, detail };
}

/** Sets Retry-After for an error if the client may retry. */
export function setRetryAfter(
  reply: FastifyReply,
  { kind, retryable }: RecalldError,
  seconds = RETRY_AFTER_SECONDS,
): void {
  const isOften = kind === 'too_many';
  if ((!retryable && !isOften) || reply.hasHeader('retry-after')) return;
  reply.header('retry-after', isOften ? WINDOW_SECONDS : seconds);
}

/** A problem with the HTTP request itself: an unknown path, a wrong method, or a body that is not JSON. */
export function plainProblem(status: number, detail: string): Problem {
  const title = status === 404 ? 'Not found' : status < 500 ? 'Bad request' : 'Internal error';
  return { type: 'about:blank', title, status, code: status < 500 ? 'bad_request' : 'internal', detail };
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header('content-type', 'application/problem+json').send(problem);
}
