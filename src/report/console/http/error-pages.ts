/** What went wrong, and the way out. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time.ts';
import type { AuthenticationSettings } from '../../../platform/access/authentication.ts';
import { type Problem, plainProblem, problemOf, sayWhen } from '../../../platform/http/wire.ts';
import type { PageContent } from '../../model/content.ts';
import { callout, link, paragraph } from '../../model/show.ts';
import { address } from '../links.ts';
import { secure } from './defences.ts';
import { frameOf, sendPage } from './visit.ts';

/** What goes wrong with a page, as a page. */
interface ProblemDeps {
  readonly clock: Clock;
  readonly site: { readonly version: string };
}

interface ErrorPageDeps extends ProblemDeps {
  readonly authentication: AuthenticationSettings;
  readonly logger: Logger;
}

/** How soon a browser may ask again while a service is away. */
const RETRY_AFTER_SECONDS = 5;

/** @param outageOf the sentence for an error of the database that means that it is away for now; null for any other */
export function addErrorPages(
  app: FastifyInstance,
  deps: ErrorPageDeps,
  outageOf: (error: Error) => RecalldError | null,
): void {
  app.setErrorHandler((thrown: Error & { statusCode?: number; code?: string }, request, reply) => {
    const error = thrown.code?.startsWith('FST_CSRF_') === true ? formExpired() : (outageOf(thrown) ?? thrown);
    const isPage = request.method === 'GET';
    if (error instanceof RecalldError) {
      if (error.code === 'key_missing' && !deps.authentication.optional) {
        secure(reply);
        return reply.redirect(address('/sign-in', { next: isPage ? request.url : '/' }), 303);
      }
      sayWhen(reply, error, RETRY_AFTER_SECONDS);
      return sendProblemPage(deps, request, reply, problemOf(error.code, error.message));
    }
    const status = thrown.statusCode ?? 500;
    if (status >= 500) {
      deps.logger.error('a page failed', { request_id: request.id, reason: error.message });
    }
    const problem = plainProblem(
      status,
      `The page could not be made; the log of recalld says why, under request id ${request.id}.`,
    );
    return sendProblemPage(deps, request, reply, problem);
  });
}

function formExpired(): RecalldError {
  const message = 'The form is older than your session; open the page again and send it there.';
  return new RecalldError('form_expired', message);
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
  return sendPage(reply, frame, problemPage(problem), problem.status);
}

export function problemPage({ title, detail }: Problem): PageContent {
  return {
    title,
    pipeline: null,
    section: null,
    hasRange: false,
    content: [callout(detail), paragraph(link('To the status of all pipelines', '/'))],
  };
}
