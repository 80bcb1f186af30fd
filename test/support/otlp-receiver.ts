/**
 * An OTLP receiver on loopback. The receiver parses requests with classes that are generated from the official
 * opentelemetry-proto.
 */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Message {
  fromObject(value: object): object;
  encode(value: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(value: object, options: object): object;
}

const require = createRequire(import.meta.url);
const file = require.resolve('otlp-proto').replace(/build\/.*$/, 'build/src/generated/root.js');
const { opentelemetry } = require(file) as {
  opentelemetry: {
    proto: {
      collector: {
        metrics: { v1: { ExportMetricsServiceRequest: Message } };
        logs: { v1: { ExportLogsServiceRequest: Message } };
      };
    };
  };
};
const { metrics, logs } = opentelemetry.proto.collector;

export interface Attributed {
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly doubleValue?: number };
  }[];
}

interface Point extends Attributed {
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}

export interface Metric {
  readonly name: string;
  readonly description: string;
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}

export interface LogRecord extends Attributed {
  readonly timeUnixNano: string;
  readonly eventName: string;
  /** Trace id, as 32 hexadecimal digits. */
  readonly traceId: string;
  /** Span id, as 16 hexadecimal digits; omitted if only the trace is known. */
  readonly spanId?: string;
}

export const attributesOf = ({ attributes }: Attributed): Record<string, string | number | undefined> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue]));

/** Encodes a JSON request as a message of the given type, and decodes it again, which drops unknown fields. */
function decode(message: Message, request: object): object {
  const bytes = message.encode(message.fromObject(request)).finish();
  return message.toObject(message.decode(bytes), { longs: String, bytes: Buffer });
}

export function decodeMetrics(json: string): {
  readonly resource: Attributed;
  readonly metrics: readonly Metric[];
} {
  const decoded = decode(metrics.v1.ExportMetricsServiceRequest, JSON.parse(json) as object) as {
    resourceMetrics: [{ resource: Attributed; scopeMetrics: [{ metrics: readonly Metric[] }] }];
  };
  const [{ resource, scopeMetrics }] = decoded.resourceMetrics;
  return { resource, metrics: scopeMetrics[0].metrics };
}

/** In OTLP JSON, ids are hexadecimal digits; in protobuf JSON, they are base64. */
export function decodeLogs(json: string): { readonly resource: Attributed; readonly records: readonly LogRecord[] } {
  const asBytes = (key: string, value: unknown): unknown =>
    key === 'traceId' || key === 'spanId' ? Buffer.from(String(value), 'hex').toString('base64') : value;
  const decoded = decode(logs.v1.ExportLogsServiceRequest, JSON.parse(json, asBytes) as object) as {
    resourceLogs: [
      {
        resource: Attributed;
        scopeLogs: [
          { logRecords: readonly (Omit<LogRecord, 'traceId' | 'spanId'> & { traceId: Buffer; spanId?: Buffer })[] },
        ];
      },
    ];
  };
  const [{ resource, scopeLogs }] = decoded.resourceLogs;
  const records = scopeLogs[0].logRecords.map(({ traceId, spanId, ...record }) => ({
    ...record,
    traceId: traceId.toString('hex'),
    ...(spanId === undefined ? {} : { spanId: spanId.toString('hex') }),
  }));
  return { resource, records };
}

/** Responses for the first requests, each a status with a body; all other requests get 200 with `{}`. */
export async function startOtlpReceiver(...answers: (readonly [status: number, body: string])[]) {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      paths.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      const [status, body] = answers.shift() ?? [200, '{}'];
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp`, bodies, paths };
}
