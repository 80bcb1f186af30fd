/** What goes wrong with a page, as a page. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { address } from '../../console/links.ts';
import { ProblemPage } from '../../console/pages/problem-page.tsx';
import { RecalldError } from '../../core/errors.ts';
import { type Problem, plainProblem, problemOf } from '../problem.ts';
import { secure } from './defences.ts';
import type { ConsoleDeps } from './deps.ts';
import { frameOf, sendPage } from './visit.ts';

type ProblemDeps = Pick<ConsoleDeps, 'clock' | 'site'>;

/** How soon a browser may ask again while a service is away. */
const RETRY_AFTER_SECONDS = 5;

/** @param outageOf the sentence for an error of the database that means that it is away for now; null for any other */
export function addErrorPages(
  app: FastifyInstance,
  deps: ConsoleDeps,
  outageOf: (error: Error) => RecalldError | null,
): void {
  app.setErrorHandler((thrown: Error & { statusCode?: number }, request, reply) => {
    const error = outageOf(thrown) ?? thrown;
    const isPage = request.method === 'GET';
    if (error instanceof RecalldError) {
      if (error.code === 'key_missing' && !deps.authentication.optional) {
        secure(reply);
        return reply.redirect(address('/sign-in', { next: isPage ? request.url : '/' }), 303);
      }
      if (error.retryable) reply.header('retry-after', RETRY_AFTER_SECONDS);
      return sendProblemPage(deps, request, reply, problemOf(error.code, error.message));
    }
    const status = thrown.statusCode ?? 500;
    if (status >= 500) {
      deps.logger.error('a page failed', { request_id: request.id, reason: error.message });
    }
    const problem =
      status === 429
        ? plainProblem(429, 'Too many attempts; wait a minute and try again.')
        : plainProblem(
            status,
            `The page could not be made; the log of recalld says why, under request id ${request.id}.`,
          );
    return sendProblemPage(deps, request, reply, problem);
  });
}

/** Whether a browser asks for an address that is no page of ours, rather than a client of the API. */
export function asksForPage({ method, url, headers }: FastifyRequest): boolean {
  return method === 'GET' && !url.startsWith('/v1/') && (headers.accept ?? '').includes('text/html');
}

export function sendProblemPage(
  { clock, site }: ProblemDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  const frame = frameOf(request, null, clock.now(), site.version);
  return sendPage(reply, ProblemPage({ frame, problem }), problem.status);
}
