/** Bearer API keys and what they may do. */
import type { FastifyRequest, preHandlerAsyncHookHandler } from 'fastify';
import { type ApiScope, allows } from '../core/api-key.ts';
import { RecalldError } from '../core/errors.ts';
import type { ApiKeys } from '../ports/api-keys.ts';

export interface AuthenticationSettings {
  readonly keys: ApiKeys;
  /** Calls without a key may do everything: only for an embedded daemon on loopback. */
  readonly optional: boolean;
}

/** A hook that lets a request through when its key has the scope. A key that is sent must be right even where none is needed. */
export function requireScope(
  scope: ApiScope,
  { keys, optional }: AuthenticationSettings,
): preHandlerAsyncHookHandler {
  return async (request) => {
    const key = bearerOf(request);
    if (key === null) {
      if (optional) return;
      throw new RecalldError(
        'key_missing',
        `This call needs an API key with scope ${scope}: send "Authorization: Bearer KEY"; \`recalld keys create\` makes one.`,
      );
    }
    const found = await keys.find(key);
    if (found === null) throw new RecalldError('key_invalid', 'The API key is unknown or revoked.');
    if (!allows(found.scopes, scope)) {
      throw new RecalldError(
        'key_lacks_scope',
        `The API key "${found.name}" has no scope ${scope}, which this call needs.`,
      );
    }
  };
}

function bearerOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  const [scheme, key] = header.split(' ');
  return scheme?.toLowerCase() === 'bearer' && key !== undefined && key !== '' ? key : '';
}
