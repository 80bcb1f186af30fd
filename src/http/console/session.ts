/**
 * Sessions of the pages. A session is a signed cookie that names an API key, so that any replica knows it and none
 * keeps it; the key is looked up at each request, so that a revoked one ends its sessions.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Visitor } from '../../console/page.tsx';
import { allows } from '../../core/api-key.ts';
import { RecalldError } from '../../core/errors.ts';
import type { ApiKey } from '../../ports/api-keys.ts';
import type { AuthenticationSettings } from '../authentication.ts';

const COOKIE = 'recalld_session';
const LIFETIME_SECONDS = 12 * 3600;
/** In the place of a key id where none is needed; key ids are hexadecimal. */
const NO_KEY = 'local';

export interface Sessions {
  /**
   * Who asks. Where no key is needed everybody may do everything, and gets a cookie that binds forms to the browser.
   *
   * @throws RecalldError key_missing when nobody is signed in, key_lacks_scope when the key may not read
   */
  visitorOf(request: FastifyRequest, reply: FastifyReply, now: Date): Promise<Visitor>;
  /** @throws RecalldError key_invalid, key_lacks_scope */
  signIn(key: string, request: FastifyRequest, reply: FastifyReply, now: Date): Promise<void>;
  signOut(request: FastifyRequest, reply: FastifyReply): void;
}

export function createSessions({ keys, optional }: AuthenticationSettings, signingKey: string): Sessions {
  const secret = createHmac('sha256', signingKey).update('sessions of the pages').digest();
  const sign = (purpose: string, text: string): string =>
    createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('base64url');

  /** The key id of a cookie that we signed and that has not run out; null for any other. */
  const readCookie = (cookie: string, now: Date): string | null => {
    const [keyId = '', expires = '', nonce = '', signature = ''] = cookie.split('.');
    const isOurs = isEqual(signature, sign('session', `${keyId}.${expires}.${nonce}`));
    return isOurs && Number(expires) * 1000 > now.getTime() ? keyId : null;
  };

  const begin = (keyId: string, request: FastifyRequest, reply: FastifyReply, now: Date): string => {
    const expires = Math.floor(now.getTime() / 1000) + LIFETIME_SECONDS;
    const content = `${keyId}.${expires}.${randomBytes(16).toString('base64url')}`;
    const cookie = `${content}.${sign('session', content)}`;
    reply.header('set-cookie', cookieHeader(cookie, LIFETIME_SECONDS, request));
    return cookie;
  };

  const visitor = (cookie: string, key: ApiKey | null): Visitor => ({
    keyName: key?.name ?? null,
    canAct: key === null || allows(key.scopes, 'admin'),
    formToken: sign('form', cookie),
  });

  return {
    async visitorOf(request, reply, now) {
      const cookie = cookieOf(request);
      const keyId = cookie === null ? null : readCookie(cookie, now);
      if (optional) {
        return visitor(
          keyId === NO_KEY && cookie !== null ? cookie : begin(NO_KEY, request, reply, now),
          null,
        );
      }
      const key = keyId === null || keyId === NO_KEY ? null : await keys.findById(keyId);
      if (cookie === null || key === null) throw new RecalldError('key_missing', 'Sign in with an API key.');
      assertMayRead(key);
      return visitor(cookie, key);
    },

    async signIn(text, request, reply, now) {
      const key = await keys.find(text);
      if (key === null) throw new RecalldError('key_invalid', 'The API key is unknown or revoked.');
      assertMayRead(key);
      begin(key.id, request, reply, now);
    },

    signOut(request, reply) {
      reply.header('set-cookie', cookieHeader('', 0, request));
    },
  };
}

function assertMayRead({ name, scopes }: ApiKey): void {
  if (allows(scopes, 'read')) return;
  throw new RecalldError(
    'key_lacks_scope',
    `The API key "${name}" has no scope read, which these pages need.`,
  );
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
export function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function cookieHeader(value: string, maxAgeSeconds: number, request: FastifyRequest): string {
  // A proxy that speaks TLS with browsers says so; a lie here only keeps the liar's own cookie from plain HTTP.
  const secure = request.headers['x-forwarded-proto'] === 'https' || request.protocol === 'https';
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
}

function cookieOf(request: FastifyRequest): string | null {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === COOKIE && value !== undefined && value !== '') return value;
  }
  return null;
}
