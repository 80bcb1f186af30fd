/** Routes that redirect the browser to the OpenID Connect provider and handle the redirect back to recalld. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import { secure } from '../../../report/console/http/defences.ts';
import { ownPath, queryOf, sendHtml } from '../../../report/console/http/visit.ts';
import { renderDocument } from '../../../report/console/render.tsx';
import { addressOf } from '../address.ts';
import type { AuthenticationSettings } from '../authentication.ts';
import type { SignInProvider } from '../sign-in-provider.ts';
import { cookieName, cookieOptions, type Sessions } from './session.ts';

/** Maximum time for entering a password and a second factor at the provider. */
const ATTEMPT_SECONDS = 600;
/**
 * How long after a sign-in at the provider recalld redirects the browser to the provider instead of showing the sign-in
 * page.
 */
const REMEMBERED_SECONDS = 30 * 24 * 3600;

const REMEMBERED = 'sign_in_at';

/** The provider sends the browser back from another site, so these cookies cannot be `Strict`. */
function laxOptions(request: FastifyRequest) {
  return { ...cookieOptions(request), sameSite: 'lax' } as const;
}

/** True if the last sign-in of this browser was at the provider and succeeded. */
export function prefersProvider(request: FastifyRequest): boolean {
  return request.cookies[cookieName(request, REMEMBERED)] === 'provider';
}

export function forgetProvider(request: FastifyRequest, reply: FastifyReply): void {
  if (prefersProvider(request)) reply.clearCookie(cookieName(request, REMEMBERED), laxOptions(request));
}

/** Renders a page that opens `url` immediately, with a link for browsers that do not open it. */
export function forwardPage(title: string, url: string, version: string): string {
  return renderDocument(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta http-equiv="refresh" content={`0;url=${url}`} />
        <title>{`${title} · recalld`}</title>
        <link rel="stylesheet" href={`/style.css?v=${version}`} />
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
      </head>
      <body>
        <main id="content">
          <h1>{title}</h1>
          <p>
            <a href={url}>Continue</a>
          </p>
        </main>
      </body>
    </html>,
  );
}

/** Each attempt has its own cookie, so that two tabs can sign in at the same time. */
function attemptCookie(request: FastifyRequest, state: string): string {
  return cookieName(request, `sign_in_${state}`);
}

function readAttempt(request: FastifyRequest, state: string) {
  if (!/^[\w-]{20,100}$/.test(state)) return null;
  const [nonce, verifier, next] = (request.cookies[attemptCookie(request, state)] ?? '').split('.');
  if (nonce === undefined || verifier === undefined || next === undefined) return null;
  return { state, nonce, verifier, next: ownPath(Buffer.from(next, 'base64url').toString('utf8')) };
}

export function addProviderSignIn(
  app: FastifyInstance,
  context: Context & { readonly authentication: AuthenticationSettings; readonly version: string },
  provider: SignInProvider,
  sessions: Sessions,
  sendSignIn: (request: FastifyRequest, reply: FastifyReply, next: string, error: RecalldError) => FastifyReply,
): void {
  const { logger, authentication, version } = context;

  const reject = (request: FastifyRequest, reply: FastifyReply, next: string, error: unknown): FastifyReply => {
    if (!(error instanceof RecalldError)) throw error;
    logger.warn('a sign-in at the provider failed', { reason: error.message, address: addressOf(request) });
    // Otherwise, recalld would send the browser to the provider again, and the user would not see the reason.
    forgetProvider(request, reply);
    return sendSignIn(request, reply, next, error);
  };

  app.get('/sign-in/provider', async (request, reply) => {
    const next = ownPath(queryOf(request)['next']);
    try {
      const { url, state, nonce, verifier } = await provider.begin();
      const value = [nonce, verifier, Buffer.from(next).toString('base64url')].join('.');
      const options = { ...laxOptions(request), maxAge: ATTEMPT_SECONDS };
      reply.setCookie(attemptCookie(request, state), value, options);
      secure(reply);
      return reply.header('cache-control', 'no-store').redirect(url, 303);
    } catch (error) {
      return reject(request, reply, next, error);
    }
  });

  app.get('/sign-in/callback', async (request, reply) => {
    const { state = '' } = queryOf(request);
    const attempt = readAttempt(request, state);
    try {
      if (attempt === null) {
        const message = `This browser did not start the sign-in, started it more than ${ATTEMPT_SECONDS / 60} minutes ago, or already completed it. Start at ${provider.signedOutUri}.`;
        throw new RecalldError('sign_in_failed', message);
      }
      reply.clearCookie(attemptCookie(request, state), laxOptions(request));
      const giveBack = authentication.beginAttempt(addressOf(request));
      const signedIn = await provider.finish(request.url.split('?')[1] ?? '', attempt);
      giveBack();
      await sessions.signInUser(signedIn, provider.sessionSeconds, request, reply);
      reply.setCookie(cookieName(request, REMEMBERED), 'provider', {
        ...laxOptions(request),
        maxAge: REMEMBERED_SECONDS,
      });
      const { id: subject, name: user } = signedIn.user;
      logger.info('a user signed in', { user, subject, address: addressOf(request) });
      // The session cookie is `Strict`, and browsers do not send it with a redirect that began at the provider.
      return sendHtml(reply, forwardPage('Signed in', attempt.next, version));
    } catch (error) {
      return reject(request, reply, attempt?.next ?? '/', error);
    }
  });
}
