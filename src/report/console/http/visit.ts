/** Requests to pages: time range, visitor, forms and the HTML response. */
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Sessions } from '../../../platform/access/edge/session.ts';
import type { PageContent } from '../../model/content.ts';
import { readTimeRange } from '../links.ts';
import type { Frame, Visitor } from '../page.tsx';
import { renderPage } from '../render.tsx';
import { assertOwnOrigin, secure } from './defences.ts';

export type Query = Readonly<Record<string, string | undefined>>;

/** Query parameters to remove when the time range changes: the range itself, notices and list positions. */
const rangeKeys: ReadonlySet<string> = new Set(['range', 'from', 'until', 'done', 'before']);

/** Notices shown after an action, keyed by the value of the query parameter `done`. */
const notices: Readonly<Record<string, string>> = {
  pinned: 'The run is now the pinned baseline, with which later runs are compared.',
  noted: 'Your note is saved.',
  acknowledged: 'The incident is acknowledged. Other users can see that you are working on the incident.',
  silenced: 'The pipeline is silenced: its messages and alerts are suppressed.',
  unsilenced: 'The silence has ended. recalld now sends messages about incidents that are still open.',
  marked:
    'The cause is marked. `recalld incidents reliability` shows how often the diagnosed cause was marked as right.',
  fixed: 'A new version of the golden set contains the judgments that you accepted. The next run uses this version.',
};

/** Returns the last value of each query parameter. */
export function queryOf(request: FastifyRequest): Query {
  const entries = Object.entries(request.query as Record<string, string | string[]>);
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().at(-1)]));
}

export function frameOf(request: FastifyRequest, visitor: Visitor | null, now: Date, version: string): Frame {
  const query = queryOf(request);
  const kept = Object.entries(query).flatMap(([name, value]) =>
    rangeKeys.has(name) || value === undefined ? [] : [[name, value] as const],
  );
  return {
    path: request.url.split('?')[0] ?? '/',
    query: Object.fromEntries(kept),
    range: readTimeRange(query, now),
    now,
    visitor,
    version,
    notice: notices[query['done'] ?? ''] ?? null,
  };
}

export function sendPage(reply: FastifyReply, frame: Frame, page: PageContent, status = 200): FastifyReply {
  return sendHtml(reply, renderPage(frame, page), status);
}

export function sendHtml(reply: FastifyReply, html: string, status = 200): FastifyReply {
  secure(reply);
  return reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(html);
}

/** Page number, starting at 1; invalid values are treated as 1. */
export function pageOf(query: Query): number {
  const page = Number(query['page'] ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

const MAX_BYTES = 256 * 1024;

/** Makes the routes of this scope accept only forms that were submitted from recalld's own pages. */
export async function acceptForms(scope: FastifyInstance, publicUrl: string | null): Promise<void> {
  scope.removeAllContentTypeParsers();
  await scope.register(formbody, { bodyLimit: MAX_BYTES });
  scope.addHook('onRequest', async (request) => assertOwnOrigin(request, publicUrl));
}

/**
 * Makes the routes of a scope accept forms. Each form must contain the CSRF token of its sender, who is authenticated
 * before the body is read.
 */
export async function acceptFormsOf(
  scope: FastifyInstance,
  publicUrl: string | null,
  senderOf: Sessions['visitorOf'],
): Promise<void> {
  await acceptForms(scope, publicUrl);
  scope.addHook('onRequest', async (request, reply) => {
    request.visitor = await senderOf(request, reply);
  });
  scope.addHook('preHandler', (request, reply, done) => scope.csrfProtection(request, reply, done));
}

/** Returns the fields of a form, with the first value of each. */
export function fieldsOf({ body }: FastifyRequest): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(formOf(body)).map(([name, value]) => [name, [value].flat()[0]]));
}

export function valuesOf({ body }: FastifyRequest, name: string): string[] {
  return [formOf(body)[name] ?? []].flat();
}

function formOf(body: unknown): Readonly<Record<string, string | string[]>> {
  return (body ?? {}) as Readonly<Record<string, string | string[]>>;
}

/** Returns the path that a form field contains, or `/` if the text could lead to another site. */
export function ownPath(text: string | undefined): string {
  return text !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && !text.includes('\\') ? text : '/';
}
