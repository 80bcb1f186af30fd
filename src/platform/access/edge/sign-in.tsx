/** The sign-in page, and the routes for signing in with an API key or at the provider, and for signing out. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
import { address } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import { renderDocument } from '../../../report/console/render.tsx';
import { problemOf, setRetryAfter } from '../../http/wire.ts';
import type { AuthenticationSettings } from '../authentication.ts';
import { addProviderSignIn, forgetProvider, forwardPage, prefersProvider } from './provider-sign-in.tsx';
import type { Sessions } from './session.ts';

interface SignInPageProps {
  readonly frame: Frame;
  /** Path of the page that opens after sign-in. */
  readonly next: string;
  /** Reason why the last sign-in failed; null if it did not fail. */
  readonly problem: string | null;
  /** Host of the provider; null if only API keys are accepted. */
  readonly provider: string | null;
}

function signInPage({ frame, next, problem, provider }: SignInPageProps): string {
  return renderDocument(
    <Page frame={frame} title="Sign in" pipeline={null} section={null} aside={null} hasRange={false}>
      <div class="panel sign-in">
        {problem === null ? null : (
          <p class="alert" role="alert" id="problem">
            {problem}
          </p>
        )}
        {provider === null ? null : (
          <>
            <a class="button" href={address('/sign-in/provider', { next })}>
              Sign in with {provider}
            </a>
            <p class="or">or with an API key</p>
          </>
        )}
        <form method="post" action="/sign-in">
          <input type="hidden" name="next" value={next} />
          <label for="key">API key</label>
          <input
            id="key"
            type="password"
            name="key"
            autocomplete="current-password"
            required
            autofocus={provider === null}
            aria-describedby={problem === null ? 'hint' : 'problem hint'}
          />
          <p id="hint" class="lead">
            A key with the <code>read</code> scope can view pages; a key with the <code>admin</code> scope can also make
            changes. Create keys with <code>recalld keys create</code>.
          </p>
          <button type="submit" class={provider === null ? undefined : 'quiet'}>
            Sign in
          </button>
        </form>
      </div>
    </Page>,
  );
}

export function addSignIn(
  app: FastifyInstance,
  context: Context & { readonly authentication: AuthenticationSettings; readonly version: string },
  sessions: Sessions,
): void {
  const { clock, config, authentication, version } = context;
  const publicUrl = config.alerts.console_base_url;
  const { provider } = authentication;

  const sendSignIn = (request: FastifyRequest, reply: FastifyReply, next: string, error: RecalldError | null) => {
    const { status, detail } = error === null ? { status: 200, detail: null } : problemOf(error.code, error.message);
    if (error !== null) setRetryAfter(reply, error);
    const frame = frameOf(request, null, clock.now(), version);
    return sendHtml(reply, signInPage({ frame, next, problem: detail, provider: provider?.label ?? null }), status);
  };

  app.get('/sign-in', async (request, reply) => {
    const next = ownPath(queryOf(request)['next']);
    if (provider !== null && prefersProvider(request)) {
      secure(reply);
      return reply.redirect(address('/sign-in/provider', { next }), 303);
    }
    return sendSignIn(request, reply, next, null);
  });

  if (provider !== null) addProviderSignIn(app, context, provider, sessions, sendSignIn);

  void app.register(async (scope) => {
    await acceptForms(scope, publicUrl);
    scope.post('/sign-in', async (request, reply) => {
      const { key = '', next } = fieldsOf(request);
      try {
        await sessions.signIn(key.trim(), request, reply);
      } catch (error) {
        if (!(error instanceof RecalldError)) throw error;
        return sendSignIn(request, reply, ownPath(next), error);
      }
      secure(reply);
      return reply.redirect(ownPath(next), 303);
    });
  });

  void app.register(async (scope) => {
    await acceptFormsOf(scope, publicUrl, (request, reply) => sessions.visitorOf(request, reply));
    scope.post('/sign-out', async (request, reply) => {
      const url = await sessions.signOut(request, reply);
      forgetProvider(request, reply);
      // The content security policy (`form-action`) keeps a form from redirecting to another site, but not a page.
      if (url !== null) return sendHtml(reply, forwardPage('Signed out of recalld', url, version));
      secure(reply);
      return reply.redirect('/sign-in', 303);
    });
  });
}
