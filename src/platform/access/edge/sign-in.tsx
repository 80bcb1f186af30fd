/** The sign-in page, and the routes for signing in with an API key and signing out. */

import type { FastifyInstance } from 'fastify';
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import { secure } from '../../../report/console/http/defences.ts';
import {
  acceptForms,
  acceptFormsOf,
  fieldsOf,
  frameOf,
  ownPath,
  queryOf,
  sendHtml,
} from '../../../report/console/http/visit.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import { renderDocument } from '../../../report/console/render.tsx';
import { problemOf, setRetryAfter } from '../../http/wire.ts';
import type { Sessions } from './session.ts';

interface SignInPageProps {
  readonly frame: Frame;
  /** Path of the page that opens after sign-in. */
  readonly next: string;
  /** Why the last sign-in failed. */
  readonly problem: string | null;
}

function signInPage({ frame, next, problem }: SignInPageProps): string {
  return renderDocument(
    <Page frame={frame} title="Sign in" pipeline={null} section={null} aside={null} hasRange={false}>
      <form method="post" action="/sign-in" class="panel sign-in">
        <input type="hidden" name="next" value={next} />
        {problem === null ? null : (
          <p class="alert" role="alert" id="problem">
            {problem}
          </p>
        )}
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          name="key"
          autocomplete="current-password"
          required
          autofocus
          aria-describedby={problem === null ? 'hint' : 'problem hint'}
        />
        <p id="hint" class="lead">
          Scope <code>read</code> views pages, scope <code>admin</code> can also make changes. Create keys with{' '}
          <code>recalld keys create</code>.
        </p>
        <button type="submit">Sign in</button>
      </form>
    </Page>,
  );
}

export function addSignIn(app: FastifyInstance, { clock, config }: Context, version: string, sessions: Sessions): void {
  const publicUrl = config.alerts.console_base_url;

  app.get('/sign-in', async (request, reply) => {
    const frame = frameOf(request, null, clock.now(), version);
    return sendHtml(reply, signInPage({ frame, next: ownPath(queryOf(request)['next']), problem: null }));
  });

  void app.register(async (scope) => {
    await acceptForms(scope, publicUrl);
    scope.post('/sign-in', async (request, reply) => {
      const { key = '', next } = fieldsOf(request);
      try {
        await sessions.signIn(key.trim(), request, reply);
      } catch (error) {
        if (!(error instanceof RecalldError)) throw error;
        const { status, detail } = problemOf(error.code, error.message);
        setRetryAfter(reply, error);
        const frame = frameOf(request, null, clock.now(), version);
        return sendHtml(reply, signInPage({ frame, next: ownPath(next), problem: detail }), status);
      }
      secure(reply);
      return reply.redirect(ownPath(next), 303);
    });
  });

  void app.register(async (scope) => {
    await acceptFormsOf(scope, publicUrl, (request, reply) => sessions.visitorOf(request, reply));
    scope.post('/sign-out', async (request, reply) => {
      await sessions.signOut(request, reply);
      secure(reply);
      return reply.redirect('/sign-in', 303);
    });
  });
}
