/**
 * Sign-in through the headers of a proxy that authenticates users. Only proxies in `server.trusted_proxies` may send
 * these headers.
 */
import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { AuthProxyConfig } from './config.ts';
import type { User } from './roles.ts';

export type AuthProxy = ReturnType<typeof createAuthProxy>;

export function createAuthProxy(config: AuthProxyConfig, trustedProxies: readonly string[], logger: Logger) {
  const trusted = new BlockList();
  for (const proxy of trustedProxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  let isReported = false;
  return {
    roles: config.roles,
    /** Name of the header that contains the user's groups; shown in messages. */
    groupsHeader: config.groups_header,

    /**
     * Returns the user authenticated by the proxy; null if the header is missing or did not come from the proxy's
     * address.
     *
     * @throws RecalldError sign_in_failed if a header occurs more than once: the proxy did not remove the client's own
     *   header, so the user could be forged
     */
    userOf({ raw }: FastifyRequest): User | null {
      const names = raw.headersDistinct[config.user_header.toLowerCase()] ?? [];
      const groups = raw.headersDistinct[config.groups_header.toLowerCase()] ?? [];
      if (names.length === 0) return null;
      const address = (raw.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
      if (isIP(address) === 0 || !trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) {
        if (!isReported)
          logger.warn(
            `ignored the header ${config.user_header} from an address that is not in server.trusted_proxies; this is logged once`,
            { address },
          );
        isReported = true;
        return null;
      }
      if (names.length > 1 || groups.length > 1) {
        const header = names.length > 1 ? config.user_header : config.groups_header;
        throw new RecalldError(
          'sign_in_failed',
          `The request has the header ${header} twice; configure the proxy to replace the header that its client sent.`,
        );
      }
      const name = names[0]?.trim() ?? '';
      if (name === '') return null;
      const list = (groups[0] ?? '').split(config.groups_separator).map((group) => group.trim());
      return { id: name, name, groups: list.filter((group) => group !== '') };
    },
  };
}
