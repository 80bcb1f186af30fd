/**
 * Connections to the Redis of the config: one server, those behind sentinels, or a cluster; and what they are asked by
 * `recalld doctor`.
 */

import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { RecalldError } from '../../core/errors.ts';
import { bytes } from '../../core/format.ts';

/** PEM, and the name that the certificate of the server must bear where that is not the host of the URL. */
export interface RedisTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisSettings {
  /** Of the server; of a sentinel or of one node of a cluster where it is one. The login is that of the servers. */
  readonly url: string;
  /** Keys start with it. */
  readonly prefix?: string;
  readonly tls?: RedisTls;
  readonly topology?:
    | {
        readonly kind: 'sentinel';
        /** Name of the servers at their sentinels. */
        readonly name: string;
        /** Sentinels beside that of the URL. */
        readonly others: readonly RedisAddress[];
        readonly username?: string;
        readonly password?: string;
      }
    /** `others`: nodes beside that of the URL; the rest of the cluster is told by them. */
    | { readonly kind: 'cluster'; readonly others: readonly RedisAddress[] };
}

export type RedisConnection = Redis | Cluster;

/** What a connection is for: how long it waits and how often it tries. */
export type ConnectionManner = Pick<
  RedisOptions,
  'connectTimeout' | 'commandTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue'
>;

/** How long to wait before the next attempt to connect, by their number; null gives up. */
type RetryDelay = (attempt: number) => number | null;

/** Waits longer and longer, up to two seconds. */
export const keepTrying: RetryDelay = (attempt) => Math.min(attempt * 50, 2000);

/** Not connected yet. @throws RecalldError config_invalid for a URL that cannot be read */
export function createRedisConnection(
  settings: RedisSettings,
  manner: ConnectionManner,
  retryDelay: RetryDelay,
): RedisConnection {
  const { address, login, isSecure, db } = readUrl(settings.url);
  const tls = isSecure || settings.tls !== undefined ? { tls: { ...settings.tls } } : {};
  const common = { ...manner, ...login, ...tls, lazyConnect: true };
  const { topology } = settings;
  if (topology === undefined) return guarded(new Redis({ ...common, ...address, db, retryStrategy: retryDelay }));
  const known = [address, ...topology.others];
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
        // Null would end the connection for good, and in a failover no sentinel names a master for some seconds.
        sentinelRetryStrategy: retryDelay,
        retryStrategy: retryDelay,
        // After a failover the server that was the master refuses to write; another connection asks the sentinels again.
        // The failover detector of ioredis would end a connection for good that is just being made.
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
      // Nodes that are named by host keep that name, which their certificates bear and their addresses do not.
      dnsLookup: (host, done) => done(null, host),
      redisOptions: ofNodes,
    }),
  );
}

/**
 * To the first sentinel of the settings itself: what keeps it from answering is lost on the way through it. Not
 * connected yet; null where there are no sentinels.
 */
export function createSentinelConnection(settings: RedisSettings, manner: ConnectionManner): Redis | null {
  const { topology } = settings;
  if (topology?.kind !== 'sentinel') return null;
  const { address, isSecure } = readUrl(settings.url);
  const { username, password } = topology;
  return guarded(
    new Redis({
      ...manner,
      ...address,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(isSecure ? { tls: { ...settings.tls } } : {}),
      lazyConnect: true,
      retryStrategy: () => null,
    }),
  );
}

/**
 * A TLS handshake that fails for the certificate of the server can fail once more, when the server answers our refusal.
 * ioredis listens to the first error alone, and one that nobody hears ends the process. BullMQ duplicates connections.
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

/** As messages name it, never with its password. */
export function nameOfRedis({ url, topology }: RedisSettings): string {
  const host = URL.canParse(url) ? new URL(url).host : 'queue.url';
  if (topology === undefined) return `Redis at ${host}`;
  return topology.kind === 'sentinel'
    ? `Redis "${topology.name}" of the sentinel at ${host}`
    : `The Redis cluster at ${host}`;
}

/**
 * What the keys of a queue start with. A cluster keeps keys of equal braces together, which the scripts of a queue
 * need; the name in them spreads the queues over its nodes.
 */
export function keyPrefix({ prefix = 'recalld' }: RedisSettings, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** Where the owner of the queues of a prefix stands. */
export function ownerKey({ prefix = 'recalld' }: RedisSettings): string {
  return `{${prefix}}:owner`;
}

/** @throws RecalldError config_invalid for a URL of the queue that cannot be read */
export function assertRedisUrl({ url }: Pick<RedisSettings, 'url'>): void {
  readUrl(url);
}

function readUrl(text: string) {
  if (!URL.canParse(text) || !isDecodable(text) || text.includes('#')) {
    const advice = 'write characters such as #, / and @ in the password as %23, %2F and %40';
    throw new RecalldError('config_invalid', `queue.url is not a URL that can be read; ${advice}.`);
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

/** A lone `%` is part of a URL that can be parsed, and of no login that can be decoded. */
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

/** What keeps a Redis from being a safe store of jobs, as a sentence; null: nothing. */
export function doubtOf({ host, maxmemoryPolicy, usedBytes, maxBytes }: RedisState): string | null {
  if (maxmemoryPolicy !== null && maxmemoryPolicy !== 'noeviction') {
    return `Redis at ${host} has maxmemory-policy ${maxmemoryPolicy} and may throw jobs away when its memory is short; set it to noeviction.`;
  }
  if (maxBytes > 0 && usedBytes >= maxBytes) {
    return `Redis at ${host} is full (${bytes(usedBytes)} of ${bytes(maxBytes)}) and takes no jobs; raise its maxmemory, or free memory there.`;
  }
  return null;
}

/**
 * Asks a Redis what matters to a job queue: the server that is written to, in a cluster each of them.
 *
 * @throws RecalldError queue_unreachable
 */
export async function inspectRedis(settings: RedisSettings, timeoutMs: number): Promise<readonly RedisState[]> {
  const options = { connectTimeout: timeoutMs, commandTimeout: timeoutMs, maxRetriesPerRequest: 0 };
  const redis = createRedisConnection(settings, options, () => null);
  // What goes wrong is told by the call that it breaks, save by which sentinel or node it was.
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
      `${nameOfRedis(settings)} does not answer (${error.code ?? error.message}); check queue.url and that it is up.`,
      { cause },
    );
  } finally {
    redis.disconnect();
  }
}

/** What the first sentinel says itself; null when it answers, or when there is none. */
async function troubleAtSentinel(settings: RedisSettings, manner: ConnectionManner): Promise<Error | null> {
  const sentinel = createSentinelConnection(settings, manner);
  if (sentinel === null) return null;
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

/** Of the servers that are written to. */
export function inspectServers(redis: RedisConnection): Promise<readonly RedisState[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return Promise.all(servers.map(inspectServer));
}

async function inspectServer(redis: Redis) {
  const info = `${await redis.info('server')}\n${await redis.info('memory')}`;
  const told = (name: string): string | null => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
  return {
    /** Of a node of a cluster, or of the server. */
    host: `${redis.options.host}:${redis.options.port}`,
    version: told('redis_version') ?? 'unknown',
    /** `noeviction` or one that throws jobs away when memory is short; null when the server does not tell. */
    maxmemoryPolicy: told('maxmemory_policy'),
    usedBytes: Number(told('used_memory') ?? 0),
    /** 0: as much as the machine has. */
    maxBytes: Number(told('maxmemory') ?? 0),
  };
}
