/** Signing in with an API key, and out. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { secure } from '../console/http/defences.ts';
import { acceptForms, acceptFormsOf, fieldsOf, ownPath } from '../console/http/forms.ts';
import { frameOf, queryOf, sendPage } from '../console/http/visit.ts';
import { RecalldError } from '../errors.ts';
import { problemOf, sayWhen } from '../http/problem.ts';
import type { Sessions } from './session.ts';
import { SignInPage } from './sign-in-page.tsx';

interface SignInDeps {
  readonly clock: Clock;
  readonly site: { readonly version: string; readonly publicUrl: string | null };
}

export function addSignIn(app: FastifyInstance, deps: SignInDeps, sessions: Sessions): void {
  const { clock, site } = deps;

  app.get('/sign-in', async (request, reply) => {
    const frame = frameOf(request, null, clock.now(), site.version);
    return sendPage(reply, SignInPage({ frame, next: ownPath(queryOf(request)['next']), problem: null }));
  });

  void app.register(async (scope) => {
    await acceptForms(scope, site.publicUrl);
    scope.post('/sign-in', async (request, reply) => {
      const { key = '', next } = fieldsOf(request);
      try {
        await sessions.signIn(key.trim(), request, reply);
      } catch (error) {
        if (!(error instanceof RecalldError)) throw error;
        const { status, detail } = problemOf(error.code, error.message);
        sayWhen(reply, error);
        const frame = frameOf(request, null, clock.now(), site.version);
        return sendPage(reply, SignInPage({ frame, next: ownPath(next), problem: detail }), status);
      }
      secure(reply);
      return reply.redirect(ownPath(next), 303);
    });
  });

  void app.register(async (scope) => {
    await acceptFormsOf(scope, site.publicUrl, (request, reply) => sessions.visitorOf(request, reply));
    scope.post('/sign-out', async (request, reply) => {
      await sessions.signOut(request, reply);
      secure(reply);
      return reply.redirect('/sign-in', 303);
    });
  });
}
