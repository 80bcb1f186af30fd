/** Broken and maximally expensive bodies are rejected without a crash. */

import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeTracerProvider, SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import * as fc from 'fast-check';
import protobuf from 'protobufjs/light.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { decodeLogs, decodeTraces } from '../../../../src/live/otlp/decode.ts';
import { contentOf, defaultOtlpLimits, type OtlpLimits } from '../../../../src/live/otlp/parse.ts';
import { messageType } from '../../../support/otlp-messages.ts';
import { startCollector } from './collector.ts';

const protobufType = 'application/x-protobuf';
const jsonType = 'application/json';

/** Request bodies from real exporters. Tests corrupt copies of them. */
let realProtobuf: Buffer;
let realJson: Buffer;

beforeAll(async () => {
  const collector = await startCollector();
  const config = { url: `${collector.url}/v1/traces` };
  await exportOne(new ProtobufTraceExporter(config));
  await exportOne(new JsonTraceExporter(config));
  await collector.close();
  const bodyOf = (type: string) => collector.requests.find(({ contentType }) => contentType === type)?.body;
  realProtobuf = bodyOf(protobufType) ?? Buffer.alloc(0);
  realJson = bodyOf(jsonType) ?? Buffer.alloc(0);
});

async function exportOne(exporter: SpanExporter): Promise<void> {
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const attributes = { 'gen_ai.operation.name': 'retrieval', vector: [1, 0.5], name: 'é🙂', count: -7 };
  const span = provider.getTracer('test').startSpan('retrieval', { attributes });
  span.addEvent('found', { id: 'a' }).end();
  await provider.shutdown();
}

const limits = (parts: Partial<OtlpLimits> = {}) => ({ ...defaultOtlpLimits, ...parts });

function outcome(body: Uint8Array, type: string, parts?: Partial<OtlpLimits>) {
  try {
    const { items, rejected } = decodeTraces(contentOf(body, type), limits(parts));
    return `${items.length} spans, ${rejected} rejected`;
  } catch (error) {
    if (error instanceof RecalldError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

/** Returns true if each decoder either reads the body or rejects it with a RecalldError. */
function isRefusedOrRead(body: Uint8Array, type: string): boolean {
  return [decodeTraces, decodeLogs].every((decode) => {
    try {
      decode(contentOf(body, type), defaultOtlpLimits);
      return true;
    } catch (error) {
      return error instanceof RecalldError;
    }
  });
}

const bytes = fc.uint8Array({ maxLength: 400 });
const types = fc.constantFrom(protobufType, jsonType);

describe('broken bodies', () => {
  it('are rejected or read without a crash when they are random', () => {
    const random = fc.property(bytes, types, isRefusedOrRead);
    expect(fc.check(random, { numRuns: 500 }).counterexample).toBeNull();
    const json = fc.json().map((text) => Buffer.from(text));
    const randomJson = fc.property(json, (body) => isRefusedOrRead(body, jsonType));
    expect(fc.check(randomJson).counterexample).toBeNull();
  });

  it('are rejected or read without a crash when they are truncated anywhere', () => {
    expect(outcome(realProtobuf, protobufType)).toBe('1 spans, 0 rejected');
    expect(outcome(realJson, jsonType)).toBe('1 spans, 0 rejected');
    for (const [body, type] of [
      [realProtobuf, protobufType],
      [realJson, jsonType],
    ] as const) {
      for (let length = 0; length < body.length; length += 1) {
        expect(isRefusedOrRead(body.subarray(0, length), type)).toBe(true);
      }
    }
  });

  it('are rejected or read without a crash when bytes are changed', () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    const changes = fc.array(change, { minLength: 1, maxLength: 4 });
    const property = fc.property(types, changes, (type, changes) => {
      const body = Buffer.from(type === jsonType ? realJson : realProtobuf);
      for (const [position, byte] of changes) body[position % body.length] = byte;
      return isRefusedOrRead(body, type);
    });
    expect(fc.check(property, { numRuns: 1000 }).counterexample).toBeNull();
  });

  it.each([
    ['of another type than declared', Buffer.from('hello'), jsonType, /^otlp_malformed: .*not JSON/],
    ['not an object', Buffer.from('[]'), jsonType, /^otlp_malformed: .*not a JSON object/],
    [
      'objects with fields of the wrong type',
      Buffer.from('{"resourceSpans":{"a":1}}'),
      jsonType,
      /resourceSpans .*not a list/,
    ],
    ['of an unknown type', Buffer.from('{}'), 'text/plain', /^otlp_malformed: .*Content-Type/],
  ])('are rejected with the reason when they are %s', (_, body, type, message) => {
    expect(outcome(body, type)).toMatch(message);
  });
});

describe('bodies that are too expensive', () => {
  it('are rejected when they have too many fields, in both formats', () => {
    // Each attribute has neither a key nor a value, and takes two bytes.
    const attributes = Buffer.alloc(2 * 5000).fill(Buffer.from([0x4a, 0x00]));
    const span = delimited(2, attributes);
    const body = delimited(1, delimited(2, span));
    expect(outcome(body, protobufType)).toBe('0 spans, 1 rejected');
    expect(outcome(body, protobufType, { maxFields: 4000 })).toMatch(/^body_too_large: .*too many fields/);

    const json = Buffer.from(`{"unknown":[${'{},'.repeat(4999)}{}]}`);
    expect(outcome(json, jsonType)).toBe('0 spans, 0 rejected');
    expect(outcome(json, jsonType, { maxFields: 4000 })).toMatch(/^body_too_large: .*too many fields/);
    const text = Buffer.from(JSON.stringify({ text: '{"[\\'.repeat(5000) }));
    expect(outcome(text, jsonType, { maxFields: 4000 })).toBe('0 spans, 0 rejected');
  });

  it('are rejected when they have too many spans', () => {
    const spans = Array.from({ length: 11 }, () => ({}));
    const json = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    expect(outcome(json, jsonType, { maxItems: 10 })).toMatch(/^body_too_large: .*more than 10 spans/);
    expect(outcome(json, jsonType, { maxItems: 11 })).toBe('0 spans, 11 rejected');
  });

  it('lose only attribute values that are nested too deeply, and only if they are accessed', () => {
    const type = messageType('ExportTraceServiceRequest');
    const flawsOf = (content: Parameters<typeof decodeTraces>[0]) => {
      const { items, flaws } = decodeTraces(content, limits());
      expect(items).toHaveLength(1);
      expect(flaws).toEqual({});
      return { deep: items[0]?.attributes['deep'], near: items[0]?.attributes['near'], flaws };
    };
    for (const [depth, isTaken] of [
      [16, true],
      [17, false],
      [40, false],
      [900, false],
    ] as const) {
      const expected = { near: 'x', flaws: isTaken ? {} : { attribute_too_deep: 1 } };
      const request = requestWith(nested(depth));
      expect(flawsOf(contentOf(Buffer.from(JSON.stringify(request)), jsonType))).toMatchObject(expected);
      // The protobufjs encoder supports no deeper nesting.
      if (depth > 40) continue;
      const body = type.encode(requestWith(nested(depth), (id) => Buffer.from(id, 'hex'))).finish();
      expect(flawsOf(contentOf(body, protobufType))).toMatchObject(expected);
    }
    const [attribute, anyValue, arrayValue] = [9, 2, 5];
    let value = delimited(arrayValue, new Uint8Array());
    for (let level = 0; level < 5000; level += 1) value = delimited(arrayValue, delimited(1, value));
    const deep = delimited(attribute, Buffer.concat([delimited(1, Buffer.from('deep')), delimited(anyValue, value)]));
    const ids = [delimited(1, Buffer.alloc(16, 1)), delimited(2, Buffer.alloc(8, 1))];
    const body = delimited(1, delimited(2, delimited(2, Buffer.concat([...ids, deep]))));
    const { items, flaws } = decodeTraces(contentOf(body, protobufType), limits());
    expect(JSON.stringify(items[0]?.attributes['deep'])).toBe(`${'['.repeat(16)}null${']'.repeat(16)}`);
    expect(flaws).toEqual({ attribute_too_deep: 1 });
  });

  it('are rejected when the body itself is nested too deeply', () => {
    const flood = 4_000_000;
    expect(outcome(Buffer.from('['.repeat(flood)), jsonType)).toMatch(/nested too deeply/);
    // The start of a group in an unknown field, repeated.
    expect(outcome(Buffer.alloc(flood, 0x7b), protobufType)).toMatch(/^(otlp_malformed|body_too_large): /);
  });
});

function requestWith(value: object, idOf: (digits: string) => unknown = (digits) => digits): object {
  const attributes = [
    { key: 'deep', value },
    { key: 'near', value: { stringValue: 'x' } },
  ];
  const [traceId, spanId] = ['5b8efff798038103d269b633813fc60c', 'eee19b7ec3c1b174'].map(idOf);
  const span = { traceId, spanId, attributes };
  return { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
}

function nested(depth: number): object {
  return depth === 1 ? { stringValue: 'x' } : { arrayValue: { values: [nested(depth - 1)] } };
}

/** A length-delimited field in the protobuf wire format. */
function delimited(field: number, content: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32(field * 8 + 2)
    .bytes(content)
    .finish();
}
