/** The network address of a caller. */

import { isIP } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';

/**
 * Returns the caller's address, as reported by a trusted proxy or, without such a proxy, by the connection. An IPv6
 * address is reduced to its /64 network.
 */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return normalizeIP(isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip);
}
