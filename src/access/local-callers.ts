/**
 * What guards a daemon that trusts every caller of its own machine. A page of any site can make the browser of somebody
 * on that machine call 127.0.0.1, by a name of its own that it lets resolve to it (DNS rebinding) or by a form. Such
 * calls carry the foreign name in Host or in Origin.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { RecalldError } from '../errors.ts';

const forwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip'];
const localNames = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Refuses every call under `app` that names another host than this machine, comes from a page of another, or by a proxy. */
export function refuseForeignPages(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, _reply, done) => done(refusalOf(headers)));
}

function refusalOf(headers: IncomingHttpHeaders): RecalldError | undefined {
  const { host, origin } = headers;
  if (forwarded.some((name) => headers[name] !== undefined)) {
    return new RecalldError(
      'host_refused',
      'A proxy passed this call on, and this daemon takes calls without a key from its own machine alone:' +
        ' name the proxy in server.trusted_proxies, and use API keys.',
    );
  }
  if (host !== undefined && !isLocalHost(host)) {
    return new RecalldError(
      'host_refused',
      'The Host header names another machine, and this daemon takes calls without a key from its own machine alone:' +
        ' call it as 127.0.0.1, or set server.host and use API keys.',
    );
  }
  if (origin !== undefined && !isLocal(origin)) {
    return new RecalldError('host_refused', 'Pages of other sites may not call this daemon.');
  }
  return undefined;
}

let lastLocal = '';

/** Nearly every call names it as the one before did. */
function isLocalHost(host: string): boolean {
  if (host === lastLocal) return true;
  if (!isLocal(`http://${host}`)) return false;
  lastLocal = host;
  return true;
}

function isLocal(address: string): boolean {
  return URL.canParse(address) && localNames.has(new URL(address).hostname);
}
