/** Signing in with an API key, and out. */
import type { FastifyInstance } from 'fastify';
import { SignInPage } from '../../console/pages/sign-in-page.tsx';
import { RecalldError } from '../../core/errors.ts';
import { problemOf } from '../problem.ts';
import { assertOwnForm, assertOwnOrigin, secure } from './defences.ts';
import type { ConsoleDeps } from './deps.ts';
import { acceptForms, fieldsOf } from './forms.ts';
import { ownPath } from './own-path.ts';
import type { Sessions } from './session.ts';
import { frameOf, queryOf, sendPage } from './visit.ts';

/** Keys cannot be guessed; this keeps a client with a wrong one from asking the database all day. */
const ATTEMPTS_A_MINUTE = 20;

export function addSignIn(app: FastifyInstance, deps: ConsoleDeps, sessions: Sessions): void {
  const { clock, site } = deps;
  const rateLimit = {
    max: ATTEMPTS_A_MINUTE,
    timeWindow: 60_000,
    allowList: () => false,
    keyGenerator: (request: { readonly ip: string }) => `sign-in ${request.ip}`,
  };

  app.get('/sign-in', async (request, reply) => {
    const frame = frameOf(request, null, clock.now(), site.version);
    return sendPage(reply, SignInPage({ frame, next: ownPath(queryOf(request)['next']), problem: null }));
  });

  app.register(async (scope) => {
    acceptForms(scope);
    scope.post('/sign-in', { config: { rateLimit } }, async (request, reply) => {
      assertOwnOrigin(request, site.publicUrl);
      const { key = '', next } = fieldsOf(request);
      try {
        await sessions.signIn(key.trim(), request, reply, clock.now());
      } catch (error) {
        if (!(error instanceof RecalldError)) throw error;
        const { status, detail } = problemOf(error.code, error.message);
        const frame = frameOf(request, null, clock.now(), site.version);
        return sendPage(reply, SignInPage({ frame, next: ownPath(next), problem: detail }), status);
      }
      secure(reply);
      return reply.redirect(ownPath(next), 303);
    });

    scope.post('/sign-out', async (request, reply) => {
      assertOwnOrigin(request, site.publicUrl);
      assertOwnForm(fieldsOf(request)['form_token'], await sessions.visitorOf(request, reply, clock.now()));
      sessions.signOut(request, reply);
      secure(reply);
      return reply.redirect('/sign-in', 303);
    });
  });
}
