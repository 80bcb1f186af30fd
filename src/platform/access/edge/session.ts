/**
 * Console sessions. A session is a random cookie whose hash is stored in the database. Every form has a token that only
 * the holder of the cookie can have. If no key is needed, the cookie only binds forms to the browser.
 */
import { randomBytes } from 'node:crypto';
import fastifyCookie from '@fastify/cookie';
import csrfProtection from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';
import type { Visitor } from '../../../report/console/page.tsx';
import { type AuthenticationSettings, assertAllows } from '../authentication.ts';
import { type ApiKey, addressOf, allows } from '../credentials.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The cookie to which forms are bound; set once the visitor is identified. */
    session: { readonly token: string } | null;
    /** The sender of a console form. */
    visitor: Visitor | null;
  }
}

const LIFETIME_SECONDS = 12 * 3600;

export type Sessions = Awaited<ReturnType<typeof addSessions>>;

/** Adds cookies, `csrfProtection` and sessions to the routes in `scope`. */
export async function addSessions(
  scope: FastifyInstance,
  { optional, checkKey, checkSession, sessions }: AuthenticationSettings,
) {
  await scope.register(fastifyCookie);
  // The cookie is the secret from which form tokens are derived; it is never stored.
  await scope.register(csrfProtection, {
    sessionPlugin: '@fastify/session',
    sessionKey: 'token',
    getToken: ({ body }) => (body as { readonly form_token?: string } | undefined)?.form_token,
  });
  scope.decorateRequest('session', null);
  scope.decorateRequest('visitor', null);

  return {
    /**
     * Returns the visitor. If no key is needed, every visitor has full access.
     *
     * @throws RecalldError key_missing without a session, key_lacks_scope if the key lacks the read scope,
     * attempts_limited
     */
    async visitorOf(request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
      const known = request.cookies[cookieName(request)] ?? '';
      if (optional) {
        const token = known === '' ? randomBytes(32).toString('base64url') : known;
        if (known === '') setCookie(request, reply, token);
        return enter(request, reply, token, null);
      }
      const key = known === '' ? null : await checkSession(known, addressOf(request));
      if (key === null) {
        if (known !== '') reply.clearCookie(cookieName(request), cookieOptions(request));
        throw new RecalldError('key_missing', 'Sign in with an API key.');
      }
      assertAllows(key, 'read', 'these pages need');
      return enter(request, reply, known, key);
    },

    /** @throws RecalldError key_invalid, key_lacks_scope, attempts_limited */
    async signIn(text: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const key = await checkKey(text, addressOf(request));
      if (key === null) throw new RecalldError('key_invalid', 'The API key is unknown or revoked.');
      assertAllows(key, 'read', 'these pages need');
      setCookie(request, reply, await sessions.begin(key.id, LIFETIME_SECONDS));
    },

    async signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if (request.session !== null) await sessions.end(request.session.token);
      reply.clearCookie(cookieName(request), cookieOptions(request));
    },
  };
}

function enter(request: FastifyRequest, reply: FastifyReply, token: string, key: ApiKey | null): Visitor {
  request.session = { token };
  return {
    key: key === null ? null : { id: key.id, name: key.name },
    canAct: key === null || allows(key.scopes, 'admin'),
    formToken: reply.generateCsrf(),
  };
}

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  reply.setCookie(cookieName(request), token, { ...cookieOptions(request), maxAge: LIFETIME_SECONDS });
}

function cookieOptions(request: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'strict', secure: isOverTls(request) } as const;
}

/** Browsers accept the `__Host-` prefix only over TLS and only from the host that set the cookie. */
function cookieName(request: FastifyRequest): string {
  return isOverTls(request) ? '__Host-recalld_session' : 'recalld_session';
}

/**
 * X-Forwarded-Proto is trusted: a client that forges it can only keep its own cookie from being sent over plain HTTP.
 */
function isOverTls({ protocol, headers }: FastifyRequest): boolean {
  return protocol === 'https' || headers['x-forwarded-proto'] === 'https';
}
