/** What every service that a pipeline calls has in common. */
import { z } from 'zod';

/** The form of the names of pipelines and golden sets, which become labels of metrics and parts of URLs. */
export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
  error: 'must be 1 to 100 of letters, digits, dot, dash and underscore',
});

export const headersSchema = z
  .record(z.string(), z.string().meta({ secret: 'all' }))
  .default({})
  .describe('Request headers; keep tokens in the environment as ${VAR}.');

export const timeoutSchema = z.int().min(1).max(600_000).default(2000).describe('Longest that one attempt may take.');

export const retriesSchema = z
  .int()
  .min(0)
  .max(10)
  .default(2)
  .describe('Further attempts after a connection error, 429 or 5xx.');

export const tlsShape = {
  ca_file: z.string().min(1).optional().describe('PEM file of the certificate authorities to trust.'),
  client: z
    .strictObject({
      cert_file: z.string().min(1).describe('PEM file of the certificate of recalld.'),
      key_file: z.string().min(1).describe('PEM file of its private key.'),
    })
    .optional()
    .describe('Needed where the service asks its clients for a certificate.'),
};

export const tlsSchema = z.strictObject(tlsShape).optional().describe('TLS beyond the authorities that Node trusts.');

export const proxySchema = z
  .string()
  .regex(/^(environment|https?:\/\/\S+)$/, {
    error: 'must be an http:// or https:// URL, or environment',
    abort: true,
  })
  .refine((text) => text === 'environment' || URL.canParse(text), {
    error: 'is not a URL that can be read; check its host and port',
  })
  .optional()
  .describe(
    'Proxy on the way there, or `environment` for what HTTP_PROXY, HTTPS_PROXY and NO_PROXY say; none unless set.',
  )
  .meta({ secret: 'url' });

export const keySchema = z
  .string()
  .min(1)
  .optional()
  .describe('Key of the service; keep it in the environment as ${VAR}.')
  .meta({ secret: 'all' });

const address = z.string().min(1).meta({ secret: 'url' });

/** A program of the user's own. */
export const programShape = {
  command: z
    .array(z.string().min(1))
    .min(1)
    .describe('Program and its arguments; no shell is involved.')
    .meta({ secret: 'command' }),
  directory: z.string().min(1).optional().describe('Folder that it is started in.'),
  environment: z
    .record(z.string(), z.string().meta({ secret: 'all' }))
    .default({})
    .describe('Variables added to its environment.'),
};

/** A service that speaks HTTP and JSON. */
export const httpServiceShape = {
  url: address.describe('URL of the service.'),
  headers: headersSchema,
  tls: tlsSchema,
  proxy: proxySchema,
  timeout_ms: timeoutSchema,
  retries: retriesSchema,
  max_per_second: z.number().positive().max(100_000).default(20).describe('Most calls a second.'),
};
