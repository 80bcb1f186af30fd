/** Bodies that are broken, or made to cost as much as they can: refused, and never a crash. */
import { gzipSync } from 'node:zlib';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeTracerProvider, SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-node';
import * as fc from 'fast-check';
import protobuf from 'protobufjs/light.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { openContent } from '../../../../src/adapters/otlp/content.ts';
import { decodeLogs, decodeTraces } from '../../../../src/adapters/otlp/decode.ts';
import { messageType } from '../../../../src/adapters/otlp/descriptor.ts';
import { defaultOtlpLimits, type OtlpLimits } from '../../../../src/adapters/otlp/limits.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { startCollector } from './collector.ts';

const protobufType = 'application/x-protobuf';
const jsonType = 'application/json';

/** Bodies of real exporters, to be broken. */
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

async function outcome(body: Uint8Array, type: string, encoding?: string, parts?: Partial<OtlpLimits>) {
  try {
    const content = await openContent(body, type, encoding, limits(parts));
    const { items, rejected } = decodeTraces(content, limits(parts));
    return `${items.length} spans, ${rejected} rejected`;
  } catch (error) {
    if (error instanceof RecalldError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

/** Whether neither decoder fails in another way than by refusing. */
async function isRefusedOrRead(body: Uint8Array, type: string, encoding?: string): Promise<boolean> {
  const decoders = [decodeTraces, decodeLogs];
  const results = await Promise.allSettled(
    decoders.map(async (decode) =>
      decode(await openContent(body, type, encoding, defaultOtlpLimits), defaultOtlpLimits),
    ),
  );
  return results.every((result) => result.status === 'fulfilled' || result.reason instanceof RecalldError);
}

const bytes = fc.uint8Array({ maxLength: 400 });
const types = fc.constantFrom(protobufType, jsonType);
const encodings = fc.constantFrom(undefined, 'gzip', 'identity', 'br');

describe('broken bodies', () => {
  it('are refused or read, but never crash, when they are random', async () => {
    const property = fc.asyncProperty(bytes, types, encodings, isRefusedOrRead);
    await expect(fc.check(property, { numRuns: 500 })).resolves.toMatchObject({ failed: false });
    const json = fc.json().map((text) => Buffer.from(text));
    const ofJson = fc.asyncProperty(json, (body) => isRefusedOrRead(body, jsonType));
    await expect(fc.check(ofJson)).resolves.toMatchObject({ failed: false });
  });

  it('are refused or read, but never crash, when they are real ones, cut off anywhere', async () => {
    expect(await outcome(realProtobuf, protobufType)).toBe('1 spans, 0 rejected');
    expect(await outcome(realJson, jsonType)).toBe('1 spans, 0 rejected');
    for (const [body, type] of [
      [realProtobuf, protobufType],
      [realJson, jsonType],
    ] as const) {
      for (let length = 0; length < body.length; length += 1) {
        expect(await isRefusedOrRead(body.subarray(0, length), type)).toBe(true);
      }
      const zipped = gzipSync(body);
      for (let length = 0; length < zipped.length; length += 7) {
        expect(await outcome(zipped.subarray(0, length), type, 'gzip')).toMatch(
          /^otlp_malformed: .*not valid gzip/,
        );
      }
    }
  });

  it('are refused or read, but never crash, when bytes of real ones are changed', async () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    const changes = fc.array(change, { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(types, changes, (type, changes) => {
      const body = Buffer.from(type === jsonType ? realJson : realProtobuf);
      for (const [position, byte] of changes) body[position % body.length] = byte;
      return isRefusedOrRead(body, type);
    });
    await expect(fc.check(property, { numRuns: 1000 })).resolves.toMatchObject({ failed: false });
  });

  it.each([
    ['not what its type says', Buffer.from('hello'), jsonType, undefined, /^otlp_malformed: .*not JSON/],
    ['no object', Buffer.from('[]'), jsonType, undefined, /^otlp_malformed: .*not a JSON object/],
    [
      'of fields with wrong types',
      Buffer.from('{"resourceSpans":{"a":1}}'),
      jsonType,
      undefined,
      /resourceSpans .*not a list/,
    ],
    ['of an unknown type', Buffer.from('{}'), 'text/plain', undefined, /^otlp_malformed: .*Content-Type/],
    ['of an unknown encoding', Buffer.from('{}'), jsonType, 'br', /^otlp_malformed: .*Content-Encoding/],
    ['of no gzip', Buffer.from('{}'), jsonType, 'gzip', /^otlp_malformed: .*not valid gzip/],
  ])('are refused with the reason when they are %s', async (_, body, type, encoding, message) => {
    expect(await outcome(body, type, encoding)).toMatch(message);
  });
});

describe('bodies that would cost too much', () => {
  it('are refused when they are larger than is taken, before anything is read', async () => {
    expect(await outcome(Buffer.alloc(11), protobufType, undefined, { maxBodyBytes: 10 })).toMatch(
      /^body_too_large: .*11 bytes, at most 10/,
    );
    expect(await outcome(Buffer.alloc(11), jsonType, undefined, { maxInflatedBytes: 10 })).toMatch(
      /^body_too_large: .*11 bytes, at most 10/,
    );
  });

  it('are not inflated beyond the limit, however small they are', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(defaultOtlpLimits.maxBodyBytes);
    const before = process.memoryUsage().arrayBuffers;
    expect(await outcome(bomb, protobufType, 'gzip')).toMatch(
      /^body_too_large: .*inflates to more than 16777216 bytes/,
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * 1024 * 1024);
  });

  it('are refused when they hold too many fields, in either format', async () => {
    // Two bytes each: an attribute without key and value.
    const attributes = Buffer.alloc(2 * 5000).fill(Buffer.from([0x4a, 0x00]));
    const span = delimited(2, attributes);
    const body = delimited(1, delimited(2, span));
    expect(await outcome(body, protobufType)).toBe('0 spans, 1 rejected');
    expect(await outcome(body, protobufType, undefined, { maxFields: 4000 })).toMatch(
      /^body_too_large: .*more fields/,
    );

    const json = Buffer.from(`{"unknown":[${'{},'.repeat(4999)}{}]}`);
    expect(await outcome(json, jsonType)).toBe('0 spans, 0 rejected');
    expect(await outcome(json, jsonType, undefined, { maxFields: 4000 })).toMatch(
      /^body_too_large: .*more fields/,
    );
    const text = Buffer.from(JSON.stringify({ text: '{"[\\'.repeat(5000) }));
    expect(await outcome(text, jsonType, undefined, { maxFields: 4000 })).toBe('0 spans, 0 rejected');
  });

  it('are refused when they hold too many spans', async () => {
    const spans = Array.from({ length: 11 }, () => ({}));
    const json = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    expect(await outcome(json, jsonType, undefined, { maxItems: 10 })).toMatch(
      /^body_too_large: .*more than 10 spans/,
    );
    expect(await outcome(json, jsonType, undefined, { maxItems: 11 })).toBe('0 spans, 11 rejected');
  });

  it('are refused when the value of an attribute nests too deep', async () => {
    const type = messageType('ExportTraceServiceRequest');
    for (const depth of [16, 17, 90, 900]) {
      const taken =
        depth <= 16 ? /^0 spans, 0 rejected$/ : /^otlp_malformed: .*(nests too deep|not a protobuf)/;
      expect(await outcome(Buffer.from(JSON.stringify(requestWith(nested(depth)))), jsonType)).toMatch(taken);
    }
    for (const depth of [16, 17, 40]) {
      const taken =
        depth <= 16 ? /^0 spans, 0 rejected$/ : /^otlp_malformed: .*(nests too deep|not a protobuf)/;
      expect(await outcome(type.encode(requestWith(nested(depth))).finish(), protobufType)).toMatch(taken);
    }
    expect(await outcome(Buffer.from('['.repeat(1_000_000)), jsonType)).toMatch(/nests too deep/);
  });
});

function requestWith(value: object): object {
  return { resourceSpans: [{ resource: { attributes: [{ key: 'deep', value }] }, scopeSpans: [] }] };
}

function nested(depth: number): object {
  return depth === 1 ? { stringValue: 'x' } : { arrayValue: { values: [nested(depth - 1)] } };
}

/** A field with a length, in the wire format of protobuf. */
function delimited(field: number, content: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32(field * 8 + 2)
    .bytes(content)
    .finish();
}
