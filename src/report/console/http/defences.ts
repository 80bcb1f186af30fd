/**
 * What keeps other sites away from the pages: headers that browsers obey, and checks of what they send; with the style
 * sheet and the icon, the only things that pages load.
 */
import path from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';

/** Nothing but our own style sheet and icon is loaded, no script runs, nobody frames us. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

export function secure(reply: FastifyReply): void {
  reply.headers(securityHeaders);
}

/**
 * That a form came from a page of ours.
 *
 * @param publicUrl where browsers reach us when that is not what they ask for
 * @throws RecalldError origin_refused
 */
export function assertOwnOrigin(request: FastifyRequest, publicUrl: string | null): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const own = [request.host, publicUrl === null ? undefined : hostOf(publicUrl)];
  const isOwn = origin !== undefined && own.includes(hostOf(origin) ?? '');
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new RecalldError(
    'origin_refused',
    'The form did not come from a page of recalld; open the page and send it there.',
  );
}

function hostOf(url: string): string | null {
  try {
    return new URL(url).host;
  } catch {
    return null;
  }
}

/** From the compiled file as from the source. */
const root = path.join(import.meta.dirname, '../../../../src/report/console/assets');

export async function addAssets(app: FastifyInstance): Promise<void> {
  // Pages ask for the style sheet of their version, since the files of a package all bear the same date.
  await app.register(fastifyStatic, { root, serve: false, lastModified: false, cacheControl: false });
  for (const name of ['style.css', 'icon.svg']) {
    app.get(`/${name}`, (_request, reply) => {
      secure(reply);
      return reply.header('cache-control', 'no-cache').sendFile(name);
    });
  }
}
