/** Forms as browsers send them. */
import type { FastifyInstance, FastifyRequest } from 'fastify';

const LARGEST_BYTES = 256 * 1024;

/** Lets the routes of this scope, and no others, take forms. */
export function acceptForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: LARGEST_BYTES },
    async (_request: FastifyRequest, body: string | Buffer) => new URLSearchParams(String(body)),
  );
}

/** The fields of a form; of a name that is there twice the first counts. */
export function fieldsOf(request: FastifyRequest): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries([...formOf(request)].toReversed());
}

/** All values of one field. */
export function valuesOf(request: FastifyRequest, name: string): string[] {
  return formOf(request).getAll(name);
}

function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
}
