/** A small server in place of recalld, which decodes requests with the adapter under test and records them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { decodeLogs, decodeTraces } from '../../../../src/live/otlp/decode.ts';
import {
  contentOf,
  defaultOtlpLimits,
  encodeFailure,
  encodeSuccess,
  type OtlpAnswer,
  otlpFormat,
  type PartialSuccess,
} from '../../../../src/live/otlp/parse.ts';
import type { OtlpLogRecord, OtlpSpan } from '../../../../src/live/rules/otel/span.ts';

export interface Collector {
  readonly url: string;
  /** All accepted data. */
  readonly spans: OtlpSpan[];
  readonly records: OtlpLogRecord[];
  /** Raw bodies and headers of all requests. */
  readonly requests: CollectedRequest[];
  /** Responses to send instead of a success. */
  readonly refusals: Refusal[];
  /** Body of every successful response. */
  partial: PartialSuccess | null;
  close(): Promise<void>;
}

export interface CollectedRequest {
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

interface Refusal {
  readonly status: number;
  readonly retryAfter?: string;
}

export async function startCollector(): Promise<Collector> {
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The collector has no port.');

  const collector: Collector = {
    url: `http://127.0.0.1:${address.port}`,
    spans: [],
    records: [],
    requests: [],
    refusals: [],
    partial: null,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const contentType = request.headers['content-type'];
    const contentEncoding = request.headers['content-encoding'];
    const format = otlpFormat(contentType) ?? 'json';
    collector.requests.push({ body, contentType, contentEncoding });
    const content = () => contentOf(contentEncoding === 'gzip' ? gunzipSync(body) : body, contentType);
    const refusal = collector.refusals.shift();
    if (refusal !== undefined) {
      if (refusal.retryAfter !== undefined) response.setHeader('Retry-After', refusal.retryAfter);
      send(response, refusal.status, encodeFailure(format, 14, 'The queue is full.'));
    } else if (request.url === '/v1/logs') {
      const { items } = decodeLogs(content(), defaultOtlpLimits);
      collector.records.push(...items);
      send(response, 200, encodeSuccess('logs', format, collector.partial));
    } else {
      const { items } = decodeTraces(content(), defaultOtlpLimits);
      collector.spans.push(...items);
      send(response, 200, encodeSuccess('traces', format, collector.partial));
    }
  }

  return collector;
}

function send(response: ServerResponse, status: number, { contentType, body }: OtlpAnswer): void {
  response.writeHead(status, { 'Content-Type': contentType }).end(body);
}
