import { Cluster, type Redis } from 'ioredis';
import { RecalldError } from '../errors.ts';
import {
  type ConnectionManner,
  createRedisConnection,
  createSentinelConnection,
  nameOfRedis,
  type RedisSettings,
} from './redis-connection.ts';

export interface RedisState {
  /** Of a node of a cluster, or of the server. */
  readonly host: string;
  readonly version: string;
  /** `noeviction` or one that throws jobs away when memory is short; null when the server does not tell. */
  readonly maxmemoryPolicy: string | null;
}

/**
 * Asks a Redis what matters to a job queue: the server that is written to, in a cluster each of them.
 *
 * @throws RecalldError queue_unreachable
 */
export async function inspectRedis(
  settings: RedisSettings,
  timeoutMs: number,
): Promise<readonly RedisState[]> {
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
    const servers = redis instanceof Cluster ? redis.nodes('master') : [redis];
    return await Promise.all(servers.map(inspectServer));
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

async function inspectServer(redis: Redis): Promise<RedisState> {
  const info = await redis.info('server');
  const policy = await redis.config('GET', 'maxmemory-policy').catch(() => null);
  return {
    host: `${redis.options.host}:${redis.options.port}`,
    version: /^redis_version:(.*?)\r?$/m.exec(info)?.[1] ?? 'unknown',
    maxmemoryPolicy: Array.isArray(policy) && typeof policy[1] === 'string' ? policy[1] : null,
  };
}
