/** Config fields that all services of a pipeline share. */
import { z } from 'zod';

/** Names of pipelines and golden sets, which become metric labels and parts of URLs. */
export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
  error: 'must be 1 to 100 letters, digits, dots, dashes or underscores',
});

export const textSchema = z.string().min(1);

/** A number in a range that includes its bounds. */
export const numberIn = (min: number, max: number) => z.number().min(min).max(max);

/** A whole number in a range that includes its bounds. */
export const wholeIn = (min: number, max: number) => z.int().min(min).max(max);

export const headersSchema = z
  .record(z.string(), z.string().meta({ secret: 'all' }))
  .default({})
  .describe('Headers to send with each request.');

export const timeoutSchema = z
  .int()
  .min(1)
  .max(600_000)
  .default(2000)
  .describe('Timeout per attempt, in milliseconds.');

export const retriesSchema = z
  .int()
  .min(0)
  .max(10)
  .default(2)
  .describe(
    'Maximum number of retries after a failed connection or a response with status 429 or 5xx. recalld does not retry timeouts.',
  );

export const tlsShape = {
  ca_file: textSchema
    .optional()
    .describe('PEM file with certificate authorities to trust in addition to those that Node.js trusts.'),
  client: z
    .strictObject({
      cert_file: textSchema.describe('PEM file with the client certificate, for services that require one.'),
      key_file: textSchema.describe('PEM file with the private key of the client certificate.'),
    })
    .optional()
    .describe('Client certificate.'),
};

export const tlsSchema = z.strictObject(tlsShape).optional().describe('TLS settings.');

export type TlsConfig = z.infer<typeof tlsSchema>;

export const proxySchema = z
  .string()
  .regex(/^(environment|https?:\/\/\S+)$/, {
    error: 'must be an http:// or https:// URL, or `environment`',
    abort: true,
  })
  .refine((text) => text === 'environment' || URL.canParse(text), {
    error: 'is not a valid URL; check its host and port',
  })
  .optional()
  .describe('Proxy URL, or `environment` to use HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Default: no proxy.')
  .meta({ secret: 'url' });

export const keySchema = textSchema.optional().describe('API key for the service.').meta({ secret: 'all' });

const address = textSchema.meta({ secret: 'url' });

/** Config fields for a program that recalld starts. */
export const programShape = {
  command: z
    .array(textSchema)
    .min(1)
    .describe('Program and its arguments, started without a shell.')
    .meta({ secret: 'command' }),
  directory: textSchema.optional().describe('Working directory of the program.'),
  environment: z
    .record(z.string(), z.string().meta({ secret: 'all' }))
    .default({})
    .describe('Environment variables to add for the program.'),
};

/** Config fields for a service with a JSON API over HTTP. */
export const httpServiceShape = {
  url: address.describe('URL of the service.'),
  headers: headersSchema,
  tls: tlsSchema,
  proxy: proxySchema,
  timeout_ms: timeoutSchema,
  retries: retriesSchema,
  max_per_second: z.number().positive().max(100_000).default(20).describe('Maximum number of calls per second.'),
};

type HttpService = z.infer<z.ZodObject<typeof httpServiceShape>>;

/** Config of a service. If `max_per_second` is not set, the number of calls per second is unlimited. */
export type HttpServiceConfig = Omit<HttpService, 'max_per_second'> & Partial<Pick<HttpService, 'max_per_second'>>;
