/**
 * The schema of recalld.yaml. An unknown key is an error. Values marked as `secret` are redacted in output (`all`: the
 * whole value; `url`: its credentials; `body`: fields whose names suggest a secret). docs/reference/config.md and the
 * JSON Schema are generated from this file.
 */
import { z } from 'zod';
import { llmSchema } from '../../connectors/models/chat-model.ts';
import { notifySchema } from '../../connectors/receivers/registry.ts';
import { refuseRepeats, refuseRepeatsOf } from '../../golden/config.ts';
import { refuseEvaluationsWithoutJudge, refuseJudgeWithoutModel } from '../../judging/config.ts';
import { authProxySchema, oidcSchema, refuseUnusableSignIn } from '../../platform/access/config.ts';
import { httpServiceShape } from '../../platform/config/connection.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';
import { problemOfDatabaseUrl } from '../../platform/postgres/database-url.ts';
import { queueSchema } from '../../platform/queue/config.ts';
import { exportSchema } from '../../report/export/config.ts';
import { alertsSchema } from './alerts.ts';
import { pipelineSchema } from './pipeline.ts';

const port = z.int().min(0).max(65_535);

const networks = [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()];

const serverSchema = z.strictObject({
  host: z
    .string()
    .min(1)
    .regex(/^[^\s/[\]]*$/, { error: 'must be an address or a host name, without scheme, port or brackets' })
    .default('127.0.0.1')
    .describe('Address to listen on: `::` for all IPv6 and IPv4 addresses, `0.0.0.0` for all IPv4 addresses.'),
  port: port.default(8321).describe('Port of the HTTP API; 0 selects a free port.'),
  max_requests_per_minute: z
    .int()
    .min(1)
    .default(60_000)
    .describe(
      'Maximum number of requests per minute for each API key, or for each address without a valid key. Further requests get 429 and Retry-After. Health and metrics requests do not count.',
    ),
  max_under_way_mb: z
    .int()
    .min(72)
    .max(16_384)
    .default(128)
    .describe(
      'Maximum estimated memory of in-flight requests, in megabytes: bodies, parsed values, and rows waiting to be stored. Requests without a valid key can use half of this memory, but at most 64 MB. Further requests get 503 and Retry-After.',
    ),
  trusted_proxies: z
    .array(
      z
        .string()
        .refine((text) => networks.some((network) => network.safeParse(text).success), {
          error: 'must be an IP address or a network such as 10.0.0.0/8',
          abort: true,
        })
        .refine((text) => !text.endsWith('/0'), {
          error: 'must not cover all IP addresses; list only the networks of your proxies',
        }),
    )
    .default([])
    .describe(
      'Addresses or networks of proxies in front of the API. recalld trusts X-Forwarded-For and X-Forwarded-Host only from these proxies. `X-Forwarded-Proto: https` from any client marks the cookies of the response as Secure. If the list is not empty, recalld requires API keys.',
    ),
  oidc: oidcSchema,
  auth_proxy: authProxySchema,
  shutdown_seconds: z
    .int()
    .min(1)
    .max(3600)
    .default(30)
    .describe(
      'Maximum duration of a shutdown, in seconds. A process that takes longer exits with code 3, and its work continues on another replica or after the next start.',
    ),
  metrics_port: port
    .nullable()
    .default(null)
    .describe('Separate port for /metrics, /livez and /readyz; null uses `port`.'),
  metrics_protected: z
    .boolean()
    .default(false)
    .describe(
      'If true, /metrics requires an API key with the read scope. Set this key to true if clients whose keys are restricted to some pipelines can reach /metrics.',
    ),
});

function refuseUrl(url: string, context: z.RefinementCtx): void {
  const problem = problemOfDatabaseUrl(url);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: url });
}

const days = z.int().min(1).max(36_500);

const storageSchema = z.strictObject({
  url: z
    .string()
    .regex(/^(embedded$|postgres(ql)?:\/\/)/, { error: 'must be `embedded` or a postgres:// URL' })
    .superRefine((url, context) => {
      if (/^postgres(ql)?:\/\//.test(url)) refuseUrl(url, context);
    })
    .default('embedded')
    .describe('The postgres:// URL of an existing server, or `embedded`, which runs PostgreSQL from npm in `data_dir`.')
    .meta({ secret: 'url' }),
  data_dir: z.string().min(1).default('.recalld').describe('Folder of the embedded database.'),
  pool_size: z
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe('Maximum number of connections that each process opens for its queries.'),
  statement_seconds: z.int().min(1).max(3600).default(60).describe('Statement timeout in seconds.'),
  read_url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' })
    .superRefine(refuseUrl)
    .nullable()
    .default(null)
    .describe(
      'URL of a replica that serves reads for pages and reports; the replica may lag. If the replica is unreachable, or if this key is null, recalld reads from `url`.',
    )
    .meta({ secret: 'url' }),
  measurement_retention_days: days
    .default(400)
    .describe(
      'How many days recalld retains measured values, which contain no texts or ids. recalld deletes whole months at a time.',
    ),
  audit_retention_days: days.default(730).describe('How many days recalld retains the audit log (`recalld audit`).'),
  hash_key: z
    .string()
    .min(16)
    .nullable()
    .default(null)
    .describe('Key for hashing user and session ids. If null, recalld generates a key and stores it in the database.')
    .meta({ secret: 'all' }),
});

const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Minimum level of the log lines that recalld writes.'),
});

/** recalld calls this service rarely, so its config has no rate limit. */
const { max_per_second: _limit, ...called } = httpServiceShape;

const metricsSchema = z
  .strictObject({
    latency_buckets: z
      .array(z.number().positive())
      .min(1)
      .max(40)
      .refine((limits) => limits.every((limit, index) => index === 0 || limit > (limits[index - 1] ?? limit)), {
        error: 'must be in ascending order',
      })
      .default([...metricCatalogue.recalld_query_latency_seconds.buckets])
      .describe(
        'Upper bounds of the `recalld_query_latency_seconds` buckets, in seconds. The limit of a latency objective must be one of these bounds. All processes need the same bounds.',
      ),
    otlp: z
      .strictObject({
        ...called,
        url: called.url.describe(
          'URL of an OTLP/HTTP receiver (a collector or a backend), without `/v1/metrics` or `/v1/logs`.',
        ),
        send: z
          .array(z.enum(['metrics', 'evaluations']))
          .min(1)
          .superRefine(refuseRepeats)
          .default(['metrics'])
          .describe(
            'Data to send. `metrics`: the metrics in /metrics, from every process. `evaluations`: the scores of judged live queries, as `gen_ai.evaluation.result` events on their spans, to `/v1/logs` (docs/explanation/judging.md).',
          ),
        interval_seconds: z
          .number()
          .min(1)
          .max(3600)
          .default(60)
          .describe('Interval at which metrics are sent, in seconds.'),
      })
      .optional()
      .describe('Sends metrics and live query scores via OTLP over HTTP. By default, recalld sends nothing.'),
  })
  .prefault({})
  .describe('Export of metrics.');

/**
 * Rejects a service name that two pipelines list. A span belongs to one pipeline, so one of the two would get all of
 * the service's spans, and the other none.
 */
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
      const message = `is "${service}", which the pipeline "${owner}" also lists. The spans of a service can belong to only one pipeline: remove the name from one of the two. If the service queries both pipelines, set the attribute recalld.pipeline on its spans`;
      context.addIssue({ code: 'custom', path: [index, 'service_names', place], message });
    }
  }
}

function refuseSharedPort(
  { server }: { readonly server: z.infer<typeof serverSchema> },
  context: z.RefinementCtx,
): void {
  const { port, metrics_port: own } = server;
  if (own === null || own === 0 || own !== port) return;
  const message = 'equals server.port; use another port, or remove this key to share the port';
  context.addIssue({ code: 'custom', path: ['server', 'metrics_port'], message });
}

export const configSchema = z
  .strictObject({
    server: serverSchema.prefault({}).describe('Settings for the HTTP API and the daemon.'),
    storage: storageSchema.prefault({}).describe('The PostgreSQL database.'),
    queue: queueSchema,
    log: logSchema.prefault({}).describe('The log.'),
    metrics: metricsSchema,
    alerts: alertsSchema,
    notify: notifySchema,
    llm: llmSchema,
    export: exportSchema,
    pipelines: z
      .array(pipelineSchema)
      .default([])
      .superRefine(refuseRepeatsOf('name'))
      .superRefine(refuseSharedServices)
      .describe('The retrieval pipelines to monitor.'),
  })
  .superRefine(refuseSharedPort)
  .superRefine(refuseUnusableSignIn)
  .superRefine(refuseJudgeWithoutModel)
  .superRefine(refuseEvaluationsWithoutJudge);

export type Config = z.infer<typeof configSchema>;
export type PipelineConfig = Config['pipelines'][number];
export type GoldenConfig = PipelineConfig['golden'][number];
