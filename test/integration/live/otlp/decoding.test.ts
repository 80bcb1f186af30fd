/** Bodies as exporters in languages other than JavaScript send them, according to the OTLP specification. */
import { describe, expect, it } from 'vitest';
import { decodeLogs, decodeTraces } from '../../../../src/live/otlp/decode.ts';
import { contentOf, defaultOtlpLimits, encodeFailure, encodeSuccess } from '../../../../src/live/otlp/parse.ts';
import { messageType } from '../../../support/otlp-messages.ts';

const traceId = '5B8EFFF798038103D269B633813FC60C';
const spanId = 'EEE19B7EC3C1B174';

const fromJson = async (spans: readonly object[]) => {
  const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const type = 'application/json; charset=utf-8';
  return decodeTraces(contentOf(body, type), defaultOtlpLimits);
};

describe('a span in JSON', () => {
  it('has its ids in lower case', async () => {
    const { items } = await fromJson([{ traceId, spanId, parentSpanId: '' }]);
    expect(items).toMatchObject([{ traceId: traceId.toLowerCase(), spanId: spanId.toLowerCase(), parentSpanId: null }]);
  });

  it('may encode 64-bit integers as strings or numbers, and enums as numbers or names', async () => {
    const { items } = await fromJson([
      { traceId, spanId, kind: 3, startTimeUnixNano: '1544712660300000000', status: { code: 2 } },
      {
        traceId,
        spanId,
        kind: 'SPAN_KIND_CLIENT',
        startTimeUnixNano: 1544712660300000000,
        status: { code: 'STATUS_CODE_ERROR' },
      },
    ]);
    const expected = { startTimeUnixNano: 1544712660300000000n, status: { code: 'error' } };
    expect(items).toMatchObject([expected, expected]);
  });

  it('has attributes of every type, exact long integers, and no unknown fields', async () => {
    const values = {
      text: { stringValue: 'x' },
      long: { intValue: '9007199254740993' },
      negative: { intValue: '-5' },
      number: { intValue: 5 },
      infinite: { doubleValue: 'Infinity' },
      bytes: { bytesValue: 'AQID' },
      list: { arrayValue: { values: [{ intValue: '1' }, { doubleValue: 0.5 }, {}] } },
      map: { kvlistValue: { values: [{ key: 'a.b', value: { boolValue: true } }] } },
      ['__proto__']: { kvlistValue: { values: [{ key: 'list', value: { intValue: 9 } }] } },
      future: { newValue: 1 },
      none: null,
    };
    const attributes = Object.entries(values).map(([key, value]) => ({ key, value }));
    const { items } = await fromJson([{ traceId, spanId, attributes, flags: 257, unknown: { deep: [1] } }]);
    expect(items[0]?.attributes).toMatchObject({
      text: 'x',
      long: '9007199254740993',
      negative: -5,
      number: 5,
      infinite: Number.POSITIVE_INFINITY,
      bytes: 'AQID',
      map: { 'a.b': true },
      list: [1, 0.5, null],
      future: null,
      none: null,
    });
    expect(Object.getPrototypeOf(items[0]?.attributes)).toBe(Object.prototype);
  });

  it('is rejected without a valid trace id and span id', async () => {
    const { items, rejected } = await fromJson([
      { traceId: '0'.repeat(32), spanId },
      { traceId, spanId: 'xyz' },
      { traceId: 7, spanId },
      {},
      { traceId, spanId },
    ]);
    expect({ spans: items.length, rejected }).toEqual({ spans: 1, rejected: 4 });
  });
});

it('a span in protobuf may have structured attributes and bytes', async () => {
  const type = messageType('ExportTraceServiceRequest');
  const document = { kvlistValue: { values: [{ key: 'id', value: { stringValue: 'a' } }] } };
  const span = {
    traceId: Buffer.from(traceId, 'hex'),
    spanId: Buffer.from(spanId, 'hex'),
    attributes: [
      { key: 'documents', value: { arrayValue: { values: [document] } } },
      { key: 'bytes', value: { bytesValue: Buffer.from([1, 2, 3]) } },
      { key: 'empty', value: { stringValue: '' } },
      { key: 'unset' },
    ],
  };
  const body = type.encode({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).finish();
  const content = contentOf(body, 'application/x-protobuf');
  const { items } = decodeTraces(content, defaultOtlpLimits);
  expect(items).toMatchObject([{ traceId: traceId.toLowerCase(), name: '' }]);
  expect(JSON.parse(JSON.stringify(items[0]?.attributes))).toEqual({
    documents: [{ id: 'a' }],
    bytes: 'AQID',
    empty: '',
    unset: null,
  });
});

it('log records in protobuf are read, with the observed time as fallback', async () => {
  const type = messageType('ExportLogsServiceRequest');
  const logRecords = [
    {
      observedTimeUnixNano: 7,
      eventName: 'gen_ai.evaluation.result',
      traceId: Buffer.from(traceId, 'hex'),
      spanId: Buffer.from(spanId, 'hex'),
      attributes: [{ key: 'gen_ai.evaluation.score.value', value: { doubleValue: 0.5 } }],
    },
    { timeUnixNano: 5, observedTimeUnixNano: 7 },
  ];
  const body = type.encode({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }).finish();
  const { items, rejected } = decodeLogs({ format: 'protobuf', bytes: body }, defaultOtlpLimits);
  expect(rejected).toBe(0);
  expect(items).toMatchObject([
    {
      traceId: traceId.toLowerCase(),
      spanId: spanId.toLowerCase(),
      eventName: 'gen_ai.evaluation.result',
      timeUnixNano: 7n,
      attributes: { 'gen_ai.evaluation.score.value': 0.5 },
    },
    { traceId: null, spanId: null, timeUnixNano: 5n },
  ]);
});

describe('a response', () => {
  it('is empty when everything was accepted', () => {
    const answer = encodeSuccess('traces', 'protobuf', null);
    expect(answer).toMatchObject({ contentType: 'application/x-protobuf', body: { length: 0 } });
    expect(String(encodeSuccess('logs', 'json', null).body)).toBe('{}');
  });

  it('contains the number of rejected items and the reasons', () => {
    const partial = { rejected: 3, message: 'why' };
    expect(read('ExportTraceServiceResponse', encodeSuccess('traces', 'protobuf', partial).body)).toEqual({
      partialSuccess: { rejectedSpans: 3, errorMessage: 'why' },
    });
    expect(read('ExportLogsServiceResponse', encodeSuccess('logs', 'protobuf', partial).body)).toEqual({
      partialSuccess: { rejectedLogRecords: 3, errorMessage: 'why' },
    });
    expect(JSON.parse(String(encodeSuccess('logs', 'json', partial).body))).toEqual({
      partialSuccess: { rejectedLogRecords: '3', errorMessage: 'why' },
    });
  });

  it('to a rejected request is a status in the format of the request', () => {
    expect(read('RpcStatus', encodeFailure('protobuf', 3, 'why').body)).toEqual({ code: 3, message: 'why' });
    expect(JSON.parse(String(encodeFailure('json', 3, 'why').body))).toEqual({ code: 3, message: 'why' });
  });
});

function read(name: string, body: Uint8Array): Record<string, unknown> {
  const type = messageType(name);
  return type.toObject(type.decode(body), { longs: Number });
}
