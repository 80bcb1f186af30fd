/** Sends exports of users' services to a running daemon, and checks the stored rows and the responses. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';
import { type Stored, shapes } from './live-span-shapes.ts';

let installed: Installation;
let daemon: InstalledDaemon;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  installed = await anInstallation(
    {
      'recalld.yaml': `
server: {port: 0, max_requests_per_minute: 1000000}
pipelines:
  - name: support-docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 1000000}
    segments: {keys: [tenant], max: 20}
`,
    },
    { atEnd: (clean) => void cleanups.unshift(clean) },
  );
  daemon = await installed.serve();
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

const folder = path.join(import.meta.dirname, '../fixtures/live-spans');

/** Moves the times of a fixture into the past few minutes, so that they are within the retention period. */
async function fixture(name: string): Promise<string> {
  const body = await readFile(path.join(folder, `${name}.json`), 'utf8');
  const time = /("(?:startTimeUnixNano|endTimeUnixNano|timeUnixNano)": "?)(\d{10})(\d{9})/g;
  const first = Math.min(...[...body.matchAll(time)].map(([, , seconds]) => Number(seconds)));
  const moved = Math.floor(Date.now() / 1000) - 120 - first;
  return body.replaceAll(time, (_, field, seconds, rest) => `${field}${Number(seconds) + moved}${rest}`);
}

interface Sent {
  readonly status: number;
  readonly partial: { readonly rejectedSpans?: string; readonly errorMessage?: string } | undefined;
}

async function send(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  to = '/v1/traces',
): Promise<Sent> {
  const answer = await daemon.fetch(to, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const said = (await answer.text()) || '{}';
  return { status: answer.status, partial: said.startsWith('{') ? JSON.parse(said).partialSuccess : undefined };
}

function stored(body: string): Promise<Stored[]> {
  const traceIds = [...body.matchAll(/"traceId": "([0-9a-fA-F]{32})"/g)].map(([, id]) => id?.toLowerCase());
  return installed.query<Stored & Record<string, unknown>>(
    `select text, results, outcome, latency_ms::float8, top_k, probability, dimensions, segments, stages
       from live_queries where trace_id = any($1::text[]) order by id`,
    traceIds,
  );
}

let lastSpan = 0;
const aSpanId = () => (++lastSpan).toString(16).padStart(16, '0');

describe('an export is stored as', () => {
  it.each(shapes)('the rows expected for %s', async (name, expected) => {
    const body = await fixture(name);
    expect(await send(body)).toMatchObject({ status: 200 });
    expect(await stored(body)).toMatchObject(expected);
    // Retries the export, like an exporter that did not receive the response.
    await send(body);
    expect(await stored(body)).toHaveLength(expected.length);
  });

  it('two queries if the outer of two nested retriever spans arrives in a later export', async () => {
    const [inner, outer] = [await fixture('nested-separate'), await fixture('nested-separate-outer')];
    await send(inner);
    await send(outer);
    expect(await stored(inner)).toHaveLength(2);
  });

  it('one query with a latency of one second if its times exceed the precision of a double', async () => {
    const body = await fixture('nano-number');
    await send(body);
    const [query] = await stored(body);
    expect(Math.round(query?.latency_ms ?? 0)).toBe(1000);
  });
});

describe('a response states', () => {
  it.each<[string, string, RegExp]>([
    ['attrs-object-batch', '1', /does not conform to OTLP/],
    ['base64-ids', '1', /32 hexadecimal digits/],
    ['batch-null-span', '1', /does not conform to OTLP/],
    ['batch-null-attr', '0', /attribute/],
    ['deep-attr-batch', '1', /1 retriever span .*no documents reported/],
    ['null-output', '1', /no documents reported.*Fix: enable output capture in Langfuse/],
    ['oi-no-attrs-empty', '1', /no documents reported.*OPENINFERENCE_HIDE_OUTPUTS/],
    ['truncated-genai', '1', /output truncated.*OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT/],
    ['truncated-json-output', '1', /output truncated/],
    ['snake', '0', /resource_spans is not an OTLP\/JSON field/],
    ['legacy-library', '0', /instrumentationLibrarySpans is not an OTLP\/JSON field/],
  ])('how many spans of %s were rejected, and what the problem is', async (name, rejectedSpans, message) => {
    const { status, partial } = await send(await fixture(name));
    expect(status).toBe(200);
    expect(partial).toMatchObject({ rejectedSpans, errorMessage: expect.stringMatching(message) });
  });

  it('no problem if all spans were accepted or concern no retriever', async () => {
    for (const name of ['batch-valueless-attr', 'batch-deep-attr', 'haystack-native', 'flags-unknown-fields'])
      expect(await send(await fixture(name))).toEqual({ status: 200, partial: undefined });
  });
});

describe('a body is accepted', () => {
  it.each<[string, (body: string) => string | Uint8Array<ArrayBuffer>, Record<string, string>]>([
    ['with a byte order mark', (body) => `\ufeff${body}`, {}],
    ['with a charset', (body) => body, { 'content-type': 'application/json; charset=utf-8' }],
    ['with the encoding identity', (body) => body, { 'content-encoding': 'identity' }],
    ['as gzip', (body) => Uint8Array.from(gzipSync(body)), { 'content-encoding': 'gzip' }],
    ['as x-gzip', (body) => Uint8Array.from(gzipSync(body)), { 'content-encoding': 'x-gzip' }],
    [
      'as gzip with two members',
      (body) => Uint8Array.from([...gzipSync(body.slice(0, 99)), ...gzipSync(body.slice(99))]),
      { 'content-encoding': 'GZIP' },
    ],
  ])('%s', async (_, made, headers) => {
    const body = (await fixture('upper-ids')).replace('D81F877EC5EC08C3', aSpanId());
    const before = (await stored(body)).length;
    expect(await send(made(body), headers)).toEqual({ status: 200, partial: undefined });
    expect(await stored(body)).toHaveLength(before + 1);
  });

  it('as empty protobuf', async () => {
    expect((await send('', { 'content-type': 'application/x-protobuf' })).status).toBe(200);
  });
});

describe('a request is refused with the fix', () => {
  it.each<[string, string | Uint8Array<ArrayBuffer>, Record<string, string>, string, number, RegExp]>([
    ['deflate', 'x', { 'content-encoding': 'deflate' }, '/v1/traces', 400, /gzip.*OTEL_EXPORTER_OTLP_COMPRESSION/],
    ['zstd', 'x', { 'content-encoding': 'zstd' }, '/v1/traces', 400, /gzip/],
    ['snappy', 'x', { 'content-encoding': 'snappy' }, '/v1/traces', 400, /gzip/],
    [
      'truncated gzip',
      Uint8Array.from(gzipSync('{"a": 1}').subarray(0, 15)),
      { 'content-encoding': 'gzip' },
      '/v1/traces',
      400,
      /not valid gzip/,
    ],
    ['text', '{}', { 'content-type': 'text/plain' }, '/v1/traces', 400, /text\/plain.*application\/x-protobuf/],
    ['NDJSON', '{}', { 'content-type': 'application/x-ndjson' }, '/v1/traces', 400, /application\/x-ndjson/],
    ['an empty JSON body', '', {}, '/v1/traces', 400, /not JSON/],
    [
      'JSON declared as protobuf',
      '{"resourceSpans":[]}',
      { 'content-type': 'application/x-protobuf' },
      '/v1/traces',
      400,
      /not a protobuf/,
    ],
    ['metrics', '{}', {}, '/v1/metrics', 404, /OTEL_METRICS_EXPORTER=none/],
    [
      'a slash after the path',
      '{}',
      {},
      '/v1/traces/',
      404,
      /POST \/v1\/traces\/\. recalld accepts OTLP at \/v1\/traces/,
    ],
    ['two slashes before the path', '{}', {}, '//v1/traces', 404, /recalld accepts OTLP at \/v1\/traces/],
    ['the path of Langfuse', '{}', {}, '/api/public/otel/v1/traces', 404, /recalld accepts OTLP at \/v1\/traces/],
  ])('%s', async (_, body, headers, to, status, message) => {
    const answer = await daemon.fetch(to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect(answer.status).toBe(status);
    expect(await answer.text()).toMatch(message);
  });
});

it('unreadable retriever spans are counted by problem, and `recalld doctor` states the fix', async () => {
  const counted = async (outcome: string) =>
    Number(new RegExp(`recalld_trace_spans_total{outcome="${outcome}"} (\\d+)`).exec(await daemon.metrics())?.[1]);
  const before = [
    await counted('unreadable_retriever'),
    await counted('without_documents'),
    await counted('truncated'),
  ];
  await send(await fixture('oi-no-attrs-empty'));
  await send(await fixture('truncated-json-output'));
  const after = [await counted('unreadable_retriever'), await counted('without_documents'), await counted('truncated')];
  expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([2, 1, 1]);
  const { stdout } = await installed.recalld('doctor');
  expect(stdout).toMatch(
    /support-docs spans: \d+ retriever spans? of test produced no live query.*no documents reported.*openinference\.span\.kind.*OPENINFERENCE_HIDE_OUTPUTS/,
  );
  expect(stdout).toMatch(/output truncated.*OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT/);
  expect(stdout).not.toContain('nothing flattened');
});

it('an exporter over gRPC is refused, and `recalld doctor` reports the reason', async () => {
  const session = connect(daemon.url);
  session.on('error', () => undefined);
  const [, , reason] = (await once(session, 'goaway')) as [number, number, Buffer];
  session.destroy();
  const { stdout } = await installed.recalld('doctor');
  expect(stdout).toContain('1 connection over gRPC refused, the last ');
  expect(stdout).toContain(reason.toString('utf8'));
});

it('unreadable log records and attributes do not prevent the rest of an export from being stored', async () => {
  const record = {
    eventName: 'gen_ai.evaluation.result',
    timeUnixNano: `${Date.now()}000000`,
    traceId: '7'.repeat(32),
    spanId: '8'.repeat(16),
    attributes: [
      { key: 'gen_ai.evaluation.name', value: { stringValue: 'user feedback' } },
      { key: 'gen_ai.evaluation.score.label', value: { stringValue: 'down' } },
      null,
    ],
  };
  const body = { resourceLogs: [null, { scopeLogs: [{ logRecords: [null, { attributes: {} }, record] }] }] };
  const answer = await daemon.post('/v1/logs', body);
  expect(answer).toMatchObject({ status: 200, body: { partialSuccess: { rejectedLogRecords: '3' } } });
  const rows = await installed.query('select kind from feedback where trace_id = $1::text', record.traceId);
  expect(rows).toEqual([{ kind: 'thumb' }]);
});
