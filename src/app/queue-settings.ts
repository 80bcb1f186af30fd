/** Where the config keeps the jobs. */

import { readTls } from '../outbound/service-settings.ts';
import type { BackendSettings } from '../queue/backends.ts';
import type { RedisQueueConfig } from '../queue/config.ts';
import type { RedisAddress, RedisSettings } from '../queue/redis-connection.ts';
import type { Config } from './config/schema.ts';
import type { Storage } from './storage.ts';

/** @throws RecalldError config_invalid for files of `queue.tls` that cannot be read or hold no PEM */
export function queueBackend(
  { queue }: Config,
  { connection, name }: Pick<Storage, 'connection' | 'name'>,
): BackendSettings {
  return queue.backend === 'redis'
    ? { kind: 'redis', ...redisSettings(queue) }
    : { kind: 'postgres', connection, name: `${name} queue` };
}

/** @throws RecalldError likewise */
export function redisSettings({ url, prefix, tls, topology }: RedisQueueConfig): RedisSettings {
  return {
    url,
    prefix,
    ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
    ...(topology === undefined ? {} : { topology: topologyOf(topology) }),
  };
}

function tlsOf(tls: NonNullable<RedisQueueConfig['tls']>): NonNullable<RedisSettings['tls']> {
  const { servername } = tls;
  return { ...readTls(tls, 'queue.tls'), ...(servername === undefined ? {} : { servername }) };
}

function topologyOf(topology: NonNullable<RedisQueueConfig['topology']>): NonNullable<RedisSettings['topology']> {
  const others = topology.others.map(addressOf);
  if (topology.kind === 'cluster') return { kind: 'cluster', others };
  const { name, username, password } = topology;
  return {
    kind: 'sentinel',
    name,
    others,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
}

function addressOf(text: string): RedisAddress {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
