import type { LiveTraffic } from '../live/ports/live-traffic.ts';
import type { ErasureDeps } from './routes.ts';
import { textHash, userIdHmac } from './rules/keyed-hash.ts';

/** Erasure by the ids that a service knows; what is stored are their hashes. */
export function createErasure(
  traffic: LiveTraffic,
  hashKey: string,
): Pick<ErasureDeps, 'eraseUser' | 'eraseQuery'> {
  return {
    eraseUser: (userId) => traffic.erase({ kind: 'user', userHash: userIdHmac(userId, hashKey) }, new Date()),
    eraseQuery: (id) => traffic.erase({ kind: 'query', id, idHash: textHash(id, hashKey) }, new Date()),
  };
}
