/** Authentication for tests: every API key is valid and has the given scopes, and there are no console sessions. */
import type { Logger } from '../../src/core/logger.ts';
import { createAuthentication } from '../../src/platform/access/authentication.ts';
import type { ApiScope } from '../../src/platform/access/credentials.ts';

export function acceptingKeys(scopes: readonly ApiScope[], logger: Logger) {
  const none = async () => null;
  return createAuthentication({
    findKey: async (key) => ({ id: '1', name: key, scopes, pipelines: null, createdAt: new Date(), revokedAt: null }),
    sessions: {
      find: none,
      begin: async () => '',
      idTokenOf: none,
      end: async () => undefined,
      prune: async () => undefined,
    },
    provider: null,
    authProxy: null,
    optional: false,
    logger,
  });
}
