/** The config section `queue`: where jobs are stored. */
import { z } from 'zod';
import { textSchema, tlsShape } from '../config/connection.ts';

const node = z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:/@]+):\d{1,5}$/, { error: 'must have the form host:port' });

const sentinel = z.strictObject({
  kind: z.literal('sentinel').describe('Redis with Sentinel; `queue.url` is the URL of a sentinel.'),
  name: textSchema.describe('Name of the master, as configured in the sentinels.'),
  others: z.array(node).default([]).describe('Addresses of further sentinels or cluster nodes, as host:port.'),
  username: textSchema.optional().describe('User name for the sentinels.'),
  password: textSchema.optional().describe('Password for the sentinels.').meta({ secret: 'all' }),
});

const cluster = z.strictObject({
  kind: z.literal('cluster').describe('Redis Cluster; `queue.url` is the URL of a node.'),
  others: z.array(node).default([]).describe('Addresses of further sentinels or cluster nodes, as host:port.'),
});

const redis = z
  .strictObject({
    backend: z.literal('redis').describe('Stores jobs in Redis.'),
    url: z
      .string()
      .regex(/^rediss?:\/\//, { error: 'must be a redis:// or rediss:// URL' })
      .refine((url) => URL.canParse(url) && /^(\/\d*)?$/.test(new URL(url).pathname), {
        error: 'must have the form redis://host:port or redis://host:port/database, with a database number',
      })
      .describe(
        'URL of Redis or, with `topology`, of one node. recalld uses the user and password of this URL for all Redis servers.',
      )
      .meta({ secret: 'url' }),
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'must have 1 to 64 characters: only letters, digits and . _ -' })
      .default('recalld')
      .describe('Prefix of all keys in Redis. Deployments that share a Redis server need different prefixes.'),
    tls: z
      .strictObject({
        ...tlsShape,
        servername: textSchema
          .optional()
          .describe('Name in the server certificate, if it differs from the host in the URL.'),
      })
      .optional()
      .describe('TLS settings, which require a rediss:// URL.'),
    topology: z
      .discriminatedUnion('kind', [sentinel, cluster])
      .optional()
      .describe('Topology of the Redis servers. Without this section, recalld uses the single server at `url`.'),
  })
  .superRefine(({ url, tls, topology }, context) => {
    const refuse = (path: string, message: string, input: unknown): void =>
      context.addIssue({ code: 'custom', message, path: [path], input });
    if (tls !== undefined && !url.startsWith('rediss:')) refuse('tls', 'requires a rediss:// URL', tls);
    if (topology?.kind === 'cluster' && URL.canParse(url) && /[1-9]/.test(new URL(url).pathname)) {
      refuse('url', 'selects a database, but a cluster has only database 0; remove the number', url);
    }
  });

export const queueSchema = z
  .discriminatedUnion('backend', [
    z.strictObject({
      backend: z.literal('postgres').describe('Stores jobs in the PostgreSQL database of `storage`.'),
    }),
    redis,
  ])
  .prefault({ backend: 'postgres' })
  .describe('Where recalld stores jobs.');

export type RedisQueueConfig = z.infer<typeof redis>;
