import { textHash, userIdHmac } from '../../core/privacy/keyed-hash.ts';
import type { ErasureDeps } from '../../http/erasure.ts';
import type { LiveTraffic } from '../../ports/live-traffic.ts';

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
