/**
 * Spans that a service sends, but that recalld does not read: an HTTP request, an SQL query, and a call to a language
 * model.
 */
import type { ExportRequest } from '../tracing/recording.ts';

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const span = (spanId: string, name: string, ...attributes: readonly object[]) => ({
  traceId: '5'.repeat(32),
  spanId: spanId.repeat(16),
  name,
  startTimeUnixNano: '1764350000000000000',
  endTimeUnixNano: '1764350000100000000',
  attributes,
});

export const otherNames = ['GET /checkout', 'SELECT orders', 'chat gpt-5'];

const [request = '', query = '', chat = ''] = otherNames;
const spans = [
  span('1', request, text('http.request.method', 'GET'), text('url.path', '/checkout')),
  span('2', query, text('db.system', 'postgresql'), text('db.operation', 'query')),
  span('3', chat, text('gen_ai.operation.name', 'chat'), text('gen_ai.input.messages', 'a secret prompt')),
];
const body = { resourceSpans: [{ resource: { attributes: [text('service.name', 'shop')] }, scopeSpans: [{ spans }] }] };

export const otherSpans: ExportRequest = {
  path: '/v1/traces',
  contentType: 'application/json',
  contentEncoding: 'identity',
  body: Buffer.from(JSON.stringify(body)).toString('base64'),
};
