import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { cookieName, cookieOptions } from '../../../../src/platform/access/edge/session.ts';

/**
 * Returns the cookie settings, address and host that a server with these trusted proxies derives from a request from
 * 127.0.0.1.
 */
async function seenBy(trustProxy: string[] | false, headers: Readonly<Record<string, string>>) {
  const app = fastify({ trustProxy });
  app.get('/', (request) => ({
    cookie: cookieName(request),
    isSecure: cookieOptions(request).secure,
    address: request.ip,
    host: request.hostname,
  }));
  const response = await app.inject({ url: '/', headers: { host: 'recalld.internal', ...headers } });
  return response.json<{ cookie: string; isSecure: boolean; address: string; host: string }>();
}

const forwarded = {
  'x-forwarded-proto': 'https',
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-host': 'recalld.example',
};

describe('a session cookie', () => {
  it('is not Secure on a request over plain HTTP', async () => {
    const plain = { cookie: 'recalld_session', isSecure: false, address: '127.0.0.1', host: 'recalld.internal' };
    expect(await seenBy(false, {})).toEqual(plain);
    expect(await seenBy(false, { 'x-forwarded-proto': 'http' })).toEqual(plain);
  });

  it('is Secure if any client sends X-Forwarded-Proto: https, but only a trusted proxy may name client and host', async () => {
    const secure = { cookie: '__Host-recalld_session', isSecure: true };
    const untrusted = { ...secure, address: '127.0.0.1', host: 'recalld.internal' };
    expect(await seenBy(false, forwarded)).toEqual(untrusted);
    expect(await seenBy(['10.0.0.0/8'], forwarded)).toEqual(untrusted);
    expect(await seenBy(['127.0.0.1'], forwarded)).toEqual({
      ...secure,
      address: '198.51.100.7',
      host: 'recalld.example',
    });
  });
});
