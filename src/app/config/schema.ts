/**
 * recalld.yaml, strict: an unknown key is an error. Each leaf says what it means; `secret` leaves are never printed
 * whole (`all`: nothing of them, `url`: not the credentials in it, `body`: not what sounds like a secret).
 * docs/reference/config.md and the JSON Schema are generated from here.
 */
import { z } from 'zod';
import { llmSchema } from '../../connectors/models/chat-model.ts';
import { notifySchema } from '../../connectors/receivers/registry.ts';
import { refuseRepeats } from '../../golden/config.ts';
import { refuseEvaluationsWithoutJudge, refuseJudgeWithoutModel } from '../../judging/config.ts';
import { httpServiceShape } from '../../platform/config/connection.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';
import { problemOfDatabaseUrl } from '../../platform/postgres/database-url.ts';
import { queueSchema } from '../../platform/queue/config.ts';
import { alertsSchema } from './alerts.ts';
import { pipelineSchema } from './pipeline.ts';

const port = z.int().min(0).max(65_535);

const networks = [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()];

const serverSchema = z.strictObject({
  host: z
    .string()
    .min(1)
    .regex(/^[^\s/[\]]*$/, { error: 'must be an address or a host name alone, without scheme, port or brackets' })
    .default('127.0.0.1')
    .describe('Address to listen on: `::` for all of IPv6 and IPv4, `0.0.0.0` for all of IPv4.'),
  port: port.default(8321).describe('Port of the HTTP API; 0 takes a free one.'),
  max_requests_per_minute: z
    .int()
    .min(1)
    .default(60_000)
    .describe(
      'Most requests a minute of one API key, or of one address where the key is missing or wrong; beyond it they get 429 and Retry-After. Health and metrics are not counted.',
    ),
  max_under_way_mb: z
    .int()
    .min(72)
    .max(16_384)
    .default(128)
    .describe(
      'Megabytes that requests under way may hold together, estimated: their bodies, what is read from them, and the rows that wait to be stored; at most half of it, and never more than 64, without a good key. What comes beyond is answered 503 and Retry-After.',
    ),
  trusted_proxies: z
    .array(
      z
        .string()
        .refine((text) => networks.some((network) => network.safeParse(text).success), {
          error: 'must be an IP address or a network such as 10.0.0.0/8',
          abort: true,
        })
        .refine((text) => !text.endsWith('/0'), { error: 'must not be every address there is' }),
    )
    .default([])
    .describe(
      'Proxies before the API, as addresses or networks. Their X-Forwarded-For, -Proto and -Host say who calls and how; those of anybody else are ignored. With a proxy, API keys are always needed.',
    ),
  shutdown_seconds: z
    .int()
    .min(1)
    .max(3600)
    .default(30)
    .describe(
      'Longest that a stop takes; after it the process ends with exit code 3, and what it was at is done by another replica, or after the next start.',
    ),
  metrics_port: port
    .nullable()
    .default(null)
    .describe('Own port for /metrics, /livez and /readyz; null shares `port`.'),
});

function refuseUrl(url: string, context: z.RefinementCtx): void {
  const problem = problemOfDatabaseUrl(url);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: url });
}

const storageSchema = z.strictObject({
  url: z
    .string()
    .regex(/^(embedded$|postgres(ql)?:\/\/)/, { error: 'must be `embedded` or a postgres:// URL' })
    .superRefine((url, context) => {
      if (/^postgres(ql)?:\/\//.test(url)) refuseUrl(url, context);
    })
    .default('embedded')
    .describe('`embedded` runs PostgreSQL from npm in `data_dir`; else a postgres:// URL.')
    .meta({ secret: 'url' }),
  data_dir: z.string().min(1).default('.recalld').describe('Folder of the embedded database.'),
  pool_size: z
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe('Most connections that this process opens for its own queries.'),
  statement_seconds: z
    .int()
    .min(1)
    .max(3600)
    .default(60)
    .describe('Longest that the database may work on one statement of recalld.'),
  read_url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' })
    .superRefine(refuseUrl)
    .nullable()
    .default(null)
    .describe(
      'A replica that answers what people read; it may lag behind, and `url` answers while it is away. Null reads from `url`.',
    )
    .meta({ secret: 'url' }),
  measurement_retention_days: z
    .int()
    .min(1)
    .max(36_500)
    .default(400)
    .describe('Days that measured values are kept; they are deleted by whole months, and hold no text and no ids.'),
  audit_retention_days: z
    .int()
    .min(1)
    .max(36_500)
    .default(730)
    .describe('Days that it is kept what people did (`recalld audit`).'),
  hash_key: z
    .string()
    .min(16)
    .nullable()
    .default(null)
    .describe('Key of the hashes that stand for users and sessions; null makes one and keeps it in the database.')
    .meta({ secret: 'all' }),
});

const logSchema = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Least severe level that is written.'),
});

/** One call in a while needs no limit. */
const { max_per_second: _limit, ...called } = httpServiceShape;

const metricsSchema = z
  .strictObject({
    latency_buckets: z
      .array(z.number().positive())
      .min(1)
      .max(40)
      .refine((limits) => limits.every((limit, index) => index === 0 || limit > (limits[index - 1] ?? limit)), {
        error: 'must grow from each limit to the next',
      })
      .default([...metricCatalogue.recalld_query_latency_seconds.buckets])
      .describe(
        'Upper limits of the buckets of `recalld_query_latency_seconds`, in seconds; an objective of latency takes one of them. The same on every process: other limits are other series.',
      ),
    otlp: z
      .strictObject({
        ...called,
        url: called.url.describe(
          'Where OTLP over HTTP is taken, without `/v1/metrics` or `/v1/logs`: a collector, or a backend.',
        ),
        send: z
          .array(z.enum(['metrics', 'evaluations']))
          .min(1)
          .superRefine(refuseRepeats)
          .default(['metrics'])
          .describe(
            '`metrics`: what /metrics shows, from every process. `evaluations`: the scores of judged live queries, as events `gen_ai.evaluation.result` on their spans, at `/v1/logs` (docs/explanation/judging.md).',
          ),
        interval_seconds: z.number().min(1).max(3600).default(60).describe('How often metrics are sent.'),
      })
      .optional()
      .describe('Sends metrics, and scores of live queries, by OTLP over HTTP; left out, nothing is sent.'),
  })
  .prefault({})
  .describe('How metrics are exported.');

/** A span is of one pipeline: of two that name its service, one would get all and the other nothing. */
function refuseSharedServices(
  pipelines: readonly { readonly name: string; readonly service_names: readonly string[] }[],
  context: z.RefinementCtx,
): void {
  const owners = new Map<string, string>();
  for (const [index, { name, service_names: services }] of pipelines.entries()) {
    for (const [place, service] of services.entries()) {
      const owner = owners.get(service) ?? name;
      owners.set(service, owner);
      if (owner === name) continue;
      const message = `is "${service}", which the pipeline "${owner}" names too; a span is of one pipeline, so name it once, or set recalld.pipeline on its spans`;
      context.addIssue({ code: 'custom', path: [index, 'service_names', place], message });
    }
  }
}

/** The second server of the process would find its port taken. */
function refuseSharedPort(
  { server }: { readonly server: z.infer<typeof serverSchema> },
  context: z.RefinementCtx,
): void {
  const { port, metrics_port: own } = server;
  if (own === null || own === 0 || own !== port) return;
  const message = 'is that of server.port; choose another, or leave it out to share the port';
  context.addIssue({ code: 'custom', path: ['server', 'metrics_port'], message });
}

export const configSchema = z
  .strictObject({
    server: serverSchema.prefault({}).describe('The HTTP API and the daemon.'),
    storage: storageSchema.prefault({}).describe('The database.'),
    queue: queueSchema,
    log: logSchema.prefault({}).describe('The log.'),
    metrics: metricsSchema,
    alerts: alertsSchema,
    notify: notifySchema,
    llm: llmSchema,
    pipelines: z
      .array(pipelineSchema)
      .default([])
      .superRefine((list, context) =>
        refuseRepeats(
          list.map(({ name }) => name),
          context,
          'name',
        ),
      )
      .superRefine(refuseSharedServices)
      .describe('The retrieval paths to watch.'),
  })
  .superRefine(refuseSharedPort)
  .superRefine(refuseJudgeWithoutModel)
  .superRefine(refuseEvaluationsWithoutJudge);

export type Config = z.infer<typeof configSchema>;
export type PipelineConfig = Config['pipelines'][number];
export type GoldenConfig = PipelineConfig['golden'][number];
