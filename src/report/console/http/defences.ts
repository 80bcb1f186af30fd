/** Protects pages against other sites, and serves the only resources that pages load. */
import path from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RecalldError } from '../../../core/errors.ts';

/** Allows pages to load only resources of recalld, and forbids inline scripts and the display of pages in frames. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
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
 * Asserts that a form was sent from one of recalld's pages.
 *
 * @param publicUrl URL by which browsers reach recalld, if it differs from the Host header
 * @throws RecalldError origin_refused
 */
export function assertOwnOrigin(request: FastifyRequest, publicUrl: string | null): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const own = [request.host, publicUrl === null ? undefined : hostOf(publicUrl)];
  const isOwn = origin !== undefined && own.includes(hostOf(origin) ?? '');
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new RecalldError(
    'origin_refused',
    'The form was not sent from a recalld page. Open the page in recalld and submit the form there.',
  );
}

function hostOf(url: string): string | null {
  try {
    return new URL(url).host;
  } catch {
    return null;
  }
}

/** The relative path is the same from the compiled file and from the source file. */
const root = path.join(import.meta.dirname, '../../../../src/report/console/assets');

export async function addAssets(app: FastifyInstance): Promise<void> {
  // Pages request the style sheet by version. No modification date is sent, because all files of an npm package have
  // the same date.
  await app.register(fastifyStatic, { root, serve: false, lastModified: false, cacheControl: false });
  for (const name of ['style.css', 'pages.js', 'icon.svg']) {
    app.get(`/${name}`, (_request, reply) => {
      secure(reply);
      return reply.header('cache-control', 'no-cache').sendFile(name);
    });
  }
}
