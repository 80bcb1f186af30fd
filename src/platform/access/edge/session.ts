/**
 * Console sessions. A session is a random cookie whose hash is stored in the database. Every form has a token that only
 * the holder of the cookie can obtain. If no key is needed, or if a proxy signs users in, the cookie only binds forms
 * to the browser.
 */
import { randomBytes } from 'node:crypto';
import fastifyCookie from '@fastify/cookie';
import csrfProtection from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';
import type { Visitor } from '../../../report/console/page.tsx';
import { addressOf } from '../address.ts';
import { type AuthenticationSettings, assertAllows } from '../authentication.ts';
import { allows, type SignedIn } from '../credentials.ts';
import { assertHasRole, scopesOf, type User } from '../roles.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The cookie that forms are bound to; null until the visitor is identified. */
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
  { optional, checkKey, checkSession, sessions, provider, authProxy }: AuthenticationSettings,
) {
  await scope.register(fastifyCookie);
  // Form tokens are derived from the cookie, which is never stored.
  await scope.register(csrfProtection, {
    sessionPlugin: '@fastify/session',
    sessionKey: 'token',
    getToken: ({ body }) => (body as { readonly form_token?: string } | undefined)?.form_token,
  });
  scope.decorateRequest('session', null);
  scope.decorateRequest('visitor', null);

  /** Binds forms to the browser of a visitor who has no session in the database. */
  const enterWithoutSession: typeof enter = (request, reply, known, visitor) => {
    const token = known === '' ? randomBytes(32).toString('base64url') : known;
    if (known === '') setCookie(request, reply, token, LIFETIME_SECONDS);
    return enter(request, reply, token, visitor);
  };

  /** @throws RecalldError key_lacks_scope, role_missing */
  const assertMayRead = ({ key, user }: SignedIn): void => {
    if (key !== null) assertAllows(key, 'read', 'these pages need');
    else if (provider === null) throw signedOut();
    else assertHasRole(user, provider.roles, 'your last sign-in');
  };

  return {
    /**
     * Returns the visitor. If no key is needed, every visitor has full access.
     *
     * @throws RecalldError key_missing if there is no session, key_lacks_scope if the key lacks the read scope,
     * role_missing if no group of the user grants a role, sign_in_failed, attempts_limited
     */
    async visitorOf(request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
      const known = request.cookies[cookieName(request)] ?? '';
      if (optional)
        return enterWithoutSession(request, reply, known, { key: null, user: null, canSignOut: false, canAct: true });
      const sent = authProxy?.userOf(request) ?? null;
      const isSent = sent !== null && authProxy !== null;
      if (isSent && scopesOf(sent.groups, authProxy.roles).length > 0) {
        const canAct = allows(scopesOf(sent.groups, authProxy.roles), 'admin');
        return enterWithoutSession(request, reply, known, { key: null, user: sent, canSignOut: false, canAct });
      }
      const signedIn = known === '' ? null : await checkSession(known, addressOf(request));
      if (signedIn === null) {
        if (isSent) assertHasRole(sent, authProxy.roles, `the header ${authProxy.groupsHeader}`);
        if (known !== '') reply.clearCookie(cookieName(request), cookieOptions(request));
        throw signedOut();
      }
      assertMayRead(signedIn);
      const { key, user } = signedIn;
      const scopes = key?.scopes ?? (user === null || provider === null ? [] : scopesOf(user.groups, provider.roles));
      return enter(request, reply, known, { key, user, canSignOut: true, canAct: allows(scopes, 'admin') });
    },

    /** @throws RecalldError key_invalid, key_lacks_scope, attempts_limited */
    async signIn(text: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const key = await checkKey(text, addressOf(request));
      if (key === null) throw new RecalldError('key_invalid', 'The API key is unknown or revoked.');
      assertAllows(key, 'read', 'these pages need');
      setCookie(request, reply, await sessions.begin({ keyId: key.id }, LIFETIME_SECONDS), LIFETIME_SECONDS);
    },

    /** Signs in a user of the provider. */
    async signInUser(
      signedIn: { readonly user: User; readonly idToken: string },
      lifetimeSeconds: number,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<void> {
      setCookie(request, reply, await sessions.begin(signedIn, lifetimeSeconds), lifetimeSeconds);
    },

    /** Ends the session. Returns the URL that also ends the user's session at the provider; null if there is none. */
    async signOut(request: FastifyRequest, reply: FastifyReply): Promise<string | null> {
      const { session, visitor } = request;
      let url: string | null = null;
      if (session !== null) {
        if (visitor?.user != null && provider !== null)
          url = provider.signOutUrl(await sessions.idTokenOf(session.token));
        await sessions.end(session.token);
      }
      reply.clearCookie(cookieName(request), cookieOptions(request));
      return url;
    },
  };
}

function signedOut(): RecalldError {
  return new RecalldError('key_missing', 'Sign in with an API key.');
}

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string, maxAge: number): void {
  reply.setCookie(cookieName(request), token, { ...cookieOptions(request), maxAge });
}

export function cookieOptions(request: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'strict', secure: isOverTls(request) } as const;
}

/** Browsers accept the `__Host-` prefix only over TLS and only from the host that set the cookie. */
export function cookieName(request: FastifyRequest, name = 'session'): string {
  return isOverTls(request) ? `__Host-recalld_${name}` : `recalld_${name}`;
}

/**
 * Accepts `X-Forwarded-Proto: https` from every client. A forged header only marks the client's own cookie as Secure,
 * and browsers do not send such a cookie over plain HTTP. The cookies of users behind a proxy that is missing from
 * `server.trusted_proxies` would otherwise lack the `Secure` attribute.
 */
function isOverTls({ protocol, headers }: FastifyRequest): boolean {
  return protocol === 'https' || headers['x-forwarded-proto'] === 'https';
}

function enter(request: FastifyRequest, reply: FastifyReply, token: string, visitor: Omit<Visitor, 'formToken'>) {
  request.session = { token };
  return { ...visitor, formToken: reply.generateCsrf() };
}
