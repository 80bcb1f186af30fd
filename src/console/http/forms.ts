/** Forms as browsers send them. */
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Sessions } from '../../access/session.ts';
import { assertOwnOrigin } from './defences.ts';

const MAX_BYTES = 256 * 1024;

/** Lets the routes of this scope take forms of our own pages, and nothing else. */
export async function acceptForms(scope: FastifyInstance, publicUrl: string | null): Promise<void> {
  scope.removeAllContentTypeParsers();
  await scope.register(formbody, { bodyLimit: MAX_BYTES });
  scope.addHook('onRequest', async (request) => assertOwnOrigin(request, publicUrl));
}

/** The same for those who are signed in; each form must carry the token of its sender, who is looked at before its body. */
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

/** The fields of a form; of a name that is there twice the first counts. */
export function fieldsOf({ body }: FastifyRequest): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(formOf(body)).map(([name, value]) => [name, [value].flat()[0]]));
}

/** All values of one field. */
export function valuesOf({ body }: FastifyRequest, name: string): string[] {
  return [formOf(body)[name] ?? []].flat();
}

function formOf(body: unknown): Readonly<Record<string, string | string[]>> {
  return (body ?? {}) as Readonly<Record<string, string | string[]>>;
}

/** A path of ours that a form names; anything that would lead to another site becomes the first page. */
export function ownPath(text: string | undefined): string {
  return text !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && !text.includes('\\') ? text : '/';
}
