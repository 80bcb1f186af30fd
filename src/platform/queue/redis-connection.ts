/**
 * Connects to the configured Redis (one server, sentinels or a cluster), and inspects it for `recalld doctor`.
 */

import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { RecalldError } from '../../core/errors.ts';
import { bytes } from '../../core/format.ts';
import { readTls } from '../outbound/json-api.ts';
import type { RedisQueueConfig } from './config.ts';

/** Config of a Redis connection, with an optional prefix for all keys. */
export type RedisSettings = Pick<RedisQueueConfig, 'url' | 'tls' | 'topology'> & { readonly prefix?: string };

export type RedisConnection = Redis | Cluster;

/** Timeouts and retries for a connection. */
type RetryPolicy = Pick<
  RedisOptions,
  'connectTimeout' | 'commandTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue'
>;

/** Returns the wait before connection attempt number n; null stops the attempts. */
type RetryDelay = (attempt: number) => number | null;

/** Retries forever and waits longer after each attempt, up to two seconds. */
export const keepTrying: RetryDelay = (attempt) => Math.min(attempt * 50, 2000);

/** Creates a connection without opening it. @throws RecalldError config_invalid, like assertUsableRedis */
export function createRedisConnection(
  settings: RedisSettings,
  manner: RetryPolicy,
  retryDelay: RetryDelay,
): RedisConnection {
  const { address, login, isSecure, db } = readUrl(settings.url);
  const tls = isSecure || settings.tls !== undefined ? { tls: tlsOf(settings) } : {};
  const common = { ...manner, ...login, ...tls, lazyConnect: true };
  const { topology } = settings;
  if (topology === undefined) return guarded(new Redis({ ...common, ...address, db, retryStrategy: retryDelay }));
  const known = [address, ...topology.others.map(addressOf)];
  if (topology.kind === 'sentinel') {
    const { name, username, password } = topology;
    return guarded(
      new Redis({
        ...common,
        db,
        name,
        sentinels: known,
        ...(username === undefined ? {} : { sentinelUsername: username }),
        ...(password === undefined ? {} : { sentinelPassword: password }),
        ...('tls' in tls ? { sentinelTLS: tls.tls, enableTLSForSentinelMode: true } : {}),
        // Retries, because no sentinel names a master for a few seconds during a failover. A null would then end the
        // connection permanently.
        sentinelRetryStrategy: retryDelay,
        retryStrategy: retryDelay,
        // After a failover, the former master refuses writes; a reconnect queries the sentinels again. ioredis's
        // failover detector would permanently end a connection that is being opened.
        reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
      }),
    );
  }
  const { enableOfflineQueue = true, ...ofNodes } = common;
  return guarded(
    new Cluster([...known], {
      lazyConnect: true,
      enableOfflineQueue,
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: manner.connectTimeout ?? 5000,
      // Nodes keep their host names, because certificates contain host names and not addresses.
      dnsLookup: (host, done) => done(null, host),
      redisOptions: ofNodes,
    }),
  );
}

/**
 * Prevents late TLS errors from ending the process. A TLS handshake that fails because of the server certificate can
 * fail again when the server reacts to the failure. ioredis listens only for the first error, and an error without a
 * listener ends the process. Also guards duplicates of the connection, because BullMQ duplicates connections.
 */
function guarded<Connection extends RedisConnection>(connection: Connection): Connection {
  if (connection instanceof Cluster) connection.on('+node', guard);
  else guard(connection);
  const duplicate = connection.duplicate.bind(connection) as (...args: unknown[]) => Connection;
  return Object.assign(connection, { duplicate: (...args: unknown[]) => guarded(duplicate(...args)) });
}

function guard(redis: Redis): void {
  redis.on('error', () => {
    const { stream } = redis as { readonly stream?: Redis['stream'] };
    if (stream?.listenerCount('error') === 0) stream.on('error', () => undefined);
  });
}

/** Returns a name for messages, without the password. */
export function nameOfRedis({ url, topology }: RedisSettings): string {
  const host = URL.canParse(url) ? new URL(url).host : 'queue.url';
  if (topology === undefined) return `Redis at ${host}`;
  return topology.kind === 'sentinel'
    ? `Redis "${topology.name}" of the sentinel at ${host}`
    : `The Redis cluster at ${host}`;
}

/**
 * Returns a queue's key prefix. A queue's scripts need all of the queue's keys on one node, and a cluster stores keys
 * with the same text in braces on one node. The queue name in the braces distributes the queues over the nodes.
 */
export function keyPrefix({ prefix = 'recalld' }: RedisSettings, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** Returns the key that stores the owner of all queues with a prefix. */
export function ownerKey({ prefix = 'recalld' }: RedisSettings): string {
  return `{${prefix}}:owner`;
}

/** @throws RecalldError config_invalid for an invalid URL, or a TLS file that cannot be read or has no PEM content */
export function assertUsableRedis(settings: RedisSettings): void {
  readUrl(settings.url);
  tlsOf(settings);
}

function tlsOf({ tls }: RedisSettings) {
  return { ...readTls(tls, 'queue.tls'), ...(tls?.servername === undefined ? {} : { servername: tls.servername }) };
}

/** @param text host:port, with brackets around an IPv6 address */
function addressOf(text: string) {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}

function readUrl(text: string) {
  if (!URL.canParse(text) || !isDecodable(text) || text.includes('#')) {
    const advice = 'write characters such as #, / and @ in the password as %23, %2F and %40';
    throw new RecalldError('config_invalid', `queue.url is not a valid URL; ${advice}.`);
  }
  const { protocol, hostname, port, username, password, pathname } = new URL(text);
  return {
    address: { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) },
    login: {
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    },
    isSecure: protocol === 'rediss:',
    db: Number(pathname.slice(1) || 0),
  };
}

/**
 * Returns false if the credentials cannot be decoded. A lone `%`, for example, is valid in a URL but cannot be decoded.
 */
function isDecodable(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    decodeURIComponent(`${username}${password}`);
    return true;
  } catch {
    return false;
  }
}

export type RedisState = Awaited<ReturnType<typeof inspectServer>>;

/** Returns the problem that makes a Redis server unsafe for jobs, as a sentence; null if it is safe. */
export function problemOf({ host, maxmemoryPolicy, usedBytes, maxBytes }: RedisState): string | null {
  if (maxmemoryPolicy !== null && maxmemoryPolicy !== 'noeviction') {
    return `Redis at ${host} has maxmemory-policy ${maxmemoryPolicy} and may evict jobs when its memory runs out; set maxmemory-policy to noeviction.`;
  }
  if (maxBytes > 0 && usedBytes >= maxBytes) {
    return `Redis at ${host} is full (${bytes(usedBytes)} of ${bytes(maxBytes)}) and accepts no jobs; raise its maxmemory, or free memory there.`;
  }
  return null;
}

/**
 * Reads the Redis settings that matter to a job queue, from the master or from each master in a cluster.
 *
 * @throws RecalldError queue_unreachable
 */
export async function inspectRedis(settings: RedisSettings, timeoutMs: number): Promise<readonly RedisState[]> {
  const options = { connectTimeout: timeoutMs, commandTimeout: timeoutMs, maxRetriesPerRequest: 0 };
  const redis = createRedisConnection(settings, options, () => null);
  // The error of a failed call does not include the error of the sentinel or node that caused the failure.
  let trouble: Error | undefined;
  for (const event of ['error', 'node error'] as const) {
    redis.on(event, (error: Error) => {
      trouble = error;
    });
  }
  try {
    await redis.connect();
    return await inspectServers(redis);
  } catch (cause) {
    const error = ((await troubleAtSentinel(settings, options)) ?? trouble ?? cause) as NodeJS.ErrnoException;
    throw new RecalldError(
      'queue_unreachable',
      `${nameOfRedis(settings)} does not respond (${error.code ?? error.message}); check queue.url, and check that Redis is running.`,
      { cause },
    );
  } finally {
    redis.disconnect();
  }
}

/**
 * Returns the connection error of the first sentinel. Null if that sentinel responds, or if the config has no
 * sentinels. Connects to the sentinel directly, because a connection through a sentinel loses the sentinel's errors.
 */
async function troubleAtSentinel(settings: RedisSettings, manner: RetryPolicy): Promise<Error | null> {
  const { topology, url } = settings;
  if (topology?.kind !== 'sentinel') return null;
  const { address, isSecure } = readUrl(url);
  const { username, password } = topology;
  const sentinel = guarded(
    new Redis({
      ...manner,
      ...address,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(isSecure ? { tls: tlsOf(settings) } : {}),
      lazyConnect: true,
      retryStrategy: () => null,
    }),
  );
  let trouble: Error | null = null;
  sentinel.on('error', (error: Error) => {
    trouble ??= error;
  });
  try {
    await sentinel.connect();
    await sentinel.ping();
    return null;
  } catch (cause) {
    return trouble ?? (cause as Error);
  } finally {
    sentinel.disconnect();
  }
}

/** Inspects the master, or each master in a cluster. */
export function inspectServers(redis: RedisConnection): Promise<readonly RedisState[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return Promise.all(servers.map(inspectServer));
}

async function inspectServer(redis: Redis) {
  const info = `${await redis.info('server')}\n${await redis.info('memory')}`;
  const field = (name: string): string | null => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
  return {
    /** Host and port of the Redis server or cluster node. */
    host: `${redis.options.host}:${redis.options.port}`,
    version: field('redis_version') ?? 'unknown',
    /** `noeviction`, or a policy that evicts jobs when memory runs out; null if the server does not report it. */
    maxmemoryPolicy: field('maxmemory_policy'),
    usedBytes: Number(field('used_memory') ?? 0),
    /** 0: unlimited. */
    maxBytes: Number(field('maxmemory') ?? 0),
  };
}
