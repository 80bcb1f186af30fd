/** Error pages: they state the problem and its fix. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time.ts';
import type { AuthenticationSettings } from '../../../platform/access/authentication.ts';
import { type Problem, plainProblem, problemOf, setRetryAfter } from '../../../platform/http/wire.ts';
import type { PageContent } from '../../model/content.ts';
import { callout, link, paragraph } from '../../model/show.ts';
import { address } from '../links.ts';
import { secure } from './defences.ts';
import { frameOf, sendPage } from './visit.ts';

interface ErrorPageParts {
  readonly clock: Clock;
  readonly version: string;
  readonly authentication: AuthenticationSettings;
  readonly logger: Logger;
}

const RETRY_AFTER_SECONDS = 5;

/** @param outageOf returns the error to show if the database is temporarily unavailable; null for any other error */
export function addErrorPages(
  app: FastifyInstance,
  parts: ErrorPageParts,
  outageOf: (error: Error) => RecalldError | null,
): void {
  app.setErrorHandler((thrown: Error & { statusCode?: number; code?: string }, request, reply) => {
    const error = thrown.code?.startsWith('FST_CSRF_') === true ? formExpired() : (outageOf(thrown) ?? thrown);
    const isPage = request.method === 'GET';
    if (error instanceof RecalldError) {
      if (error.code === 'key_missing' && !parts.authentication.optional) {
        secure(reply);
        return reply.redirect(address('/sign-in', { next: isPage ? request.url : '/' }), 303);
      }
      setRetryAfter(reply, error, RETRY_AFTER_SECONDS);
      return sendProblemPage(parts, request, reply, problemOf(error.code, error.message));
    }
    const status = thrown.statusCode ?? 500;
    if (status >= 500) {
      parts.logger.error('page failed', { request_id: request.id, reason: error.message });
    }
    const problem = plainProblem(
      status,
      `recalld failed to render this page. To find the reason, search recalld's log for request id ${request.id}.`,
    );
    return sendProblemPage(parts, request, reply, problem);
  });
}

function formExpired(): RecalldError {
  const message = 'The form is older than your session. Reload the page and submit the form again.';
  return new RecalldError('form_expired', message);
}

/** True if a browser, rather than an API client, requests a path that does not exist. */
export function asksForPage({ method, url, headers }: FastifyRequest): boolean {
  return method === 'GET' && !url.startsWith('/v1/') && (headers.accept ?? '').includes('text/html');
}

export function sendProblemPage(
  { clock, version }: Pick<ErrorPageParts, 'clock' | 'version'>,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  const frame = frameOf(request, null, clock.now(), version);
  return sendPage(reply, frame, problemPage(problem), problem.status);
}

export function problemPage({ title, detail }: Problem): PageContent {
  return {
    title,
    pipeline: null,
    section: null,
    hasRange: false,
    content: [callout(detail), paragraph(link('Status of all pipelines', '/'))],
  };
}
