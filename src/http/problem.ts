/** Error code -> RFC 9457 problem document. The only place that knows HTTP statuses of errors. */
import type { FastifyReply } from 'fastify';
import { type ErrorCode, type ErrorKind, errorTable, type RecalldError } from '../errors.ts';

/** How soon a client that was sent away may come back. */
export const RETRY_AFTER_SECONDS = 2;
/** The same for one that comes too often, unless its limit said it already. */
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

/** Tells a client that may try again when to. */
export function sayWhen(reply: FastifyReply, { kind, retryable }: RecalldError, seconds = RETRY_AFTER_SECONDS): void {
  const isOften = kind === 'too_many';
  if ((!retryable && !isOften) || reply.hasHeader('retry-after')) return;
  reply.header('retry-after', isOften ? WINDOW_SECONDS : seconds);
}

/** For what HTTP itself refuses: an unknown path, a wrong method, a body that is no JSON. */
export function plainProblem(status: number, detail: string): Problem {
  const title = status === 404 ? 'Not found' : status < 500 ? 'Bad request' : 'Internal error';
  return { type: 'about:blank', title, status, code: status < 500 ? 'bad_request' : 'internal', detail };
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header('content-type', 'application/problem+json').send(problem);
}
