/** `queue`: where jobs live. */
import { z } from 'zod';
import { tlsShape } from '../config/connection.ts';

const node = z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:/@]+):\d{1,5}$/, { error: 'must be written host:port' });

const sentinel = z.strictObject({
  kind: z.literal('sentinel').describe('Redis behind sentinels; `queue.url` names one of them.'),
  name: z.string().min(1).describe('Name of the servers at their sentinels.'),
  others: z.array(node).default([]).describe('Sentinels beside that of `url`, each as host:port.'),
  username: z.string().min(1).optional().describe('User at the sentinels.'),
  password: z.string().min(1).optional().describe('Password at the sentinels.').meta({ secret: 'all' }),
});

const cluster = z.strictObject({
  kind: z.literal('cluster').describe('Redis Cluster; `queue.url` names one of its nodes.'),
  others: z.array(node).default([]).describe('Nodes beside that of `url`, each as host:port.'),
});

const redis = z
  .strictObject({
    backend: z.literal('redis').describe('Jobs live in Redis.'),
    url: z
      .string()
      .regex(/^rediss?:\/\//, { error: 'must be a redis:// or rediss:// URL' })
      .refine((url) => URL.canParse(url) && /^(\/\d*)?$/.test(new URL(url).pathname), {
        error: 'must be redis://host:port or redis://host:port/number, with the number of a database',
      })
      .describe(
        'Redis to use; with a `topology`, one of its nodes. The user and password in it are those of the servers.',
      )
      .meta({ secret: 'url' }),
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'must be 1 to 64 letters, digits and . _ -' })
      .default('recalld')
      .describe('Prefix of all keys; deployments that share a Redis need different ones.'),
    tls: z
      .strictObject({
        ...tlsShape,
        servername: z
          .string()
          .min(1)
          .optional()
          .describe('Name in the certificate of the servers, where they are reached by another.'),
      })
      .optional()
      .describe('TLS beyond the authorities that Node trusts; needs a rediss:// URL.'),
    topology: z
      .discriminatedUnion('kind', [sentinel, cluster])
      .optional()
      .describe('Left out, `url` is the one server.'),
  })
  .superRefine(({ url, tls, topology }, context) => {
    const refuse = (path: string, message: string, input: unknown): void =>
      context.addIssue({ code: 'custom', message, path: [path], input });
    if (tls !== undefined && !url.startsWith('rediss:')) refuse('tls', 'needs a rediss:// URL', tls);
    if (topology?.kind === 'cluster' && URL.canParse(url) && /[1-9]/.test(new URL(url).pathname)) {
      refuse('url', 'names a database, and a cluster has only 0; leave it out', url);
    }
  });

export const queueSchema = z
  .discriminatedUnion('backend', [
    z.strictObject({
      backend: z.literal('postgres').describe('Jobs live in the same PostgreSQL as the history.'),
    }),
    redis,
  ])
  .prefault({ backend: 'postgres' });

export type RedisQueueConfig = z.infer<typeof redis>;
