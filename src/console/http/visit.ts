/** One visit of a page: who looks, at which span of time, and how the answer is sent. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type Frame, renderPage, type Visitor } from '../page.tsx';
import { readTimeRange } from '../time-range.ts';
import { secure } from './defences.ts';

export type Query = Readonly<Record<string, string | undefined>>;

/** What does not go on to the same page over another range: the range itself, and where in a list it was. */
const rangeKeys: ReadonlySet<string> = new Set(['range', 'from', 'until', 'done', 'before']);

/** What actions came to, by the word that stands in the address after them. */
const notices: Readonly<Record<string, string>> = {
  pinned: 'The run is pinned as baseline. Later runs are compared with it.',
  noted: 'Your note is saved.',
  mended: 'A new version of the golden set is made with the labels that you accepted. The next run takes it.',
};

/** Of a name that is there twice the last counts. */
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

export function sendPage(reply: FastifyReply, page: VNode, status = 200): FastifyReply {
  secure(reply);
  return reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(renderPage(page));
}

/** Counts from 1; anything else is the first page. */
export function pageOf(query: Query): number {
  const page = Number(query['page'] ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}
