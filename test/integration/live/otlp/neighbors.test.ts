/** A valid span yields the same result among unreadable neighbors as it does alone. */
import * as fc from 'fast-check';
import protobuf from 'protobufjs/light.js';
import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../../src/live/otlp/extraction.ts';
import { contentOf } from '../../../../src/live/otlp/parse.ts';
import { messageType } from '../../../support/otlp-messages.ts';

const traceId = '5b8efff798038103d269b633813fc60c';
const spanId = 'eee19b7ec3c1b174';
const pipelines = [{ name: 'docs', serviceNames: ['rag'], segmentKeys: ['tenant'], fieldKeys: [], tools: [] }];

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const good = {
  traceId,
  spanId,
  name: 'retrieve',
  startTimeUnixNano: '1700000000000000000',
  endTimeUnixNano: '1700000000250000000',
  attributes: [
    text('openinference.span.kind', 'RETRIEVER'),
    text('input.value', 'how do I pay'),
    text('tenant', 'acme'),
    text('retrieval.documents.0.document.id', 'kb-1'),
    { key: 'retrieval.documents.0.document.score', value: { doubleValue: 0.5 } },
    { key: 'embedding.vector', value: { arrayValue: { values: [{ doubleValue: 0.6 }, { doubleValue: 0.8 }] } } },
  ],
};
const resource = { attributes: [text('service.name', 'rag')] };

const ofJson = (resourceSpans: unknown) =>
  readTraces(contentOf(Buffer.from(JSON.stringify({ resourceSpans })), 'application/json'), pipelines);
const ofProtobuf = (body: Uint8Array) => readTraces(contentOf(body, 'application/x-protobuf'), pipelines);

const alone = ofJson([{ resource, scopeSpans: [{ spans: [good] }] }]).queries;

/**
 * Returns the queries of the valid span, with exact vectors. These queries must equal those of the span without
 * neighbors.
 */
function goodOf({ queries }: ReturnType<typeof readTraces>) {
  return queries.filter((query) => query.traceId === traceId);
}

const others = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
const deep = (levels: number): unknown =>
  levels === 0 ? { stringValue: 'x' } : { arrayValue: { values: [deep(levels - 1)] } };

const anyAttribute = fc.oneof(
  fc.jsonValue(),
  fc.record({
    key: fc.oneof(fc.constantFrom('input.value', 'output.value', 'session.id', '__proto__'), fc.jsonValue()),
  }),
  fc.record({ key: fc.string(), value: fc.jsonValue() }),
  fc.integer({ min: 1, max: 300 }).map((levels) => ({ key: 'output.value', value: deep(levels) })),
  fc.constantFrom({ key: 'a', value: { arrayValue: { values: {} } } }, { key: 'b', value: { kvlistValue: 7 } }),
);
const anySpan = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      traceId: fc.oneof(fc.constant(others.traceId), fc.jsonValue()),
      spanId: fc.oneof(fc.constant(others.spanId), fc.jsonValue()),
      attributes: fc.oneof(
        fc.jsonValue(),
        fc.array(anyAttribute).map((attributes) => [text('openinference.span.kind', 'RETRIEVER'), ...attributes]),
      ),
      events: fc.oneof(fc.jsonValue(), fc.array(fc.record({ name: fc.jsonValue(), attributes: fc.jsonValue() }))),
      links: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
      status: fc.jsonValue(),
      kind: fc.jsonValue(),
      startTimeUnixNano: fc.jsonValue(),
      endTimeUnixNano: fc.jsonValue(),
      droppedAttributesCount: fc.jsonValue(),
    },
    { requiredKeys: ['traceId', 'spanId'] },
  ),
);
const anyScope = fc.oneof(
  fc.jsonValue(),
  fc.record({ scope: fc.jsonValue(), spans: fc.oneof(fc.jsonValue(), fc.array(anySpan)) }),
);
const anyResource = fc.oneof(
  fc.jsonValue(),
  fc.record({ resource: fc.jsonValue(), scopeSpans: fc.oneof(fc.jsonValue(), fc.array(anyScope)) }),
);

describe('a valid span is read independently of invalid neighbors', () => {
  it('in JSON, with any neighbors', () => {
    const lists = fc.tuple(fc.array(anySpan), fc.array(anySpan), fc.array(anyScope), fc.array(anyResource));
    fc.assert(
      fc.property(lists, ([before, after, scopes, resources]) => {
        const scope = { spans: [...before, good, ...after] };
        expect(goodOf(ofJson([...resources, { resource, scopeSpans: [...scopes, scope] }, ...resources]))).toEqual(
          alone,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('in protobuf, with any bytes around it', () => {
    const ids = { traceId: Buffer.from(traceId, 'hex'), spanId: Buffer.from(spanId, 'hex') };
    const span = messageType('Span')
      .encode({ ...good, ...ids })
      .finish();
    const bytesOfResource = messageType('Resource').encode(resource).finish();
    const noise = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 });
    // A span with valid ids, followed by attributes, events, links or a status of arbitrary bytes.
    const aSpan = fc
      .tuple(noise, fc.constantFrom(9, 11, 13, 15))
      .map(([parts, field]) =>
        Buffer.concat([
          delimited(1, Buffer.alloc(16, 1)),
          delimited(2, Buffer.alloc(8, 1)),
          ...parts.map((part) => delimited(field, part)),
        ]),
      );
    const spans = fc.array(fc.oneof(aSpan, fc.uint8Array({ maxLength: 60 })), { maxLength: 5 });
    fc.assert(
      fc.property(spans, noise, noise, (around, scopes, resources) => {
        const list = [...around, span, ...around].map((one) => delimited(2, one));
        const parts = [...scopes.map((one) => delimited(2, one)), delimited(2, Buffer.concat(list))];
        const own = delimited(1, Buffer.concat([delimited(1, bytesOfResource), ...parts]));
        expect(goodOf(ofProtobuf(Buffer.concat([...resources.map((one) => delimited(1, one)), own])))).toEqual(alone);
      }),
      { numRuns: 500 },
    );
  });

  it('with unreadable parts of its own', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.jsonValue(), (parts, events) => {
        const attributes = [...parts.filter((part) => !isAttribute(part)), ...good.attributes];
        const spans = [{ ...good, attributes, events: Array.isArray(events) ? [] : events, links: parts }];
        expect(goodOf(ofJson([{ resource, scopeSpans: [{ spans }] }]))).toEqual(alone);
      }),
    );
  });
});

function isAttribute(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'key' in part;
}

it('a placeholder replaces only the unreadable document of a structured list, in both formats', () => {
  const named = (id: string) => ({ kvlistValue: { values: [text('id', id)] } });
  const within = (values: readonly unknown[]) => ({ kvlistValue: { values } });
  const withDocuments = (values: readonly unknown[]) => ({
    ...good,
    attributes: [
      text('gen_ai.operation.name', 'retrieval'),
      { key: 'gen_ai.retrieval.documents', value: { arrayValue: { values } } },
    ],
  });
  const idsOf = ({ queries, flaws }: ReturnType<typeof readTraces>) => [queries[0]?.results.map(({ id }) => id), flaws];
  const placeholder = `unidentified:${traceId}-${spanId}#2`;
  const malformed = { attribute_malformed: 1 };
  const json = (broken: unknown) =>
    idsOf(ofJson([{ resource, scopeSpans: [{ spans: [withDocuments([named('a'), broken, named('c')])] }] }]));
  expect(json('broken')).toEqual([['a', placeholder, 'c'], malformed]);
  expect(json({ stringValue: 7 })).toEqual([['a', placeholder, 'c'], malformed]);
  expect(json(within([text('id', 'b'), { key: 'page', value: { intValue: 'x' } }]))).toEqual([
    ['a', 'b', 'c'],
    malformed,
  ]);
  expect(json(within([text('id', 'b'), { key: 'metadata', value: deep(30) }]))).toEqual([
    ['a', 'b', 'c'],
    { attribute_too_deep: 1 },
  ]);

  const anyValue = (value: object) => messageType('AnyValue').encode(value).finish();
  const items = [anyValue(named('a')), Buffer.from('0aff01', 'hex'), anyValue(named('c'))];
  const list = delimited(5, Buffer.concat(items.map((item) => delimited(1, item))));
  const attribute = Buffer.concat([delimited(1, Buffer.from('gen_ai.retrieval.documents')), delimited(2, list)]);
  const span = Buffer.concat([
    delimited(1, Buffer.from(traceId, 'hex')),
    delimited(2, Buffer.from(spanId, 'hex')),
    delimited(9, messageType('KeyValue').encode(text('gen_ai.operation.name', 'retrieval')).finish()),
    delimited(9, attribute),
  ]);
  const ofResource = delimited(1, messageType('Resource').encode(resource).finish());
  const body = delimited(1, Buffer.concat([ofResource, delimited(2, delimited(2, span))]));
  expect(idsOf(ofProtobuf(body))).toEqual([['a', placeholder, 'c'], malformed]);
});

describe('the reader counts unreadable data by its reason', () => {
  const flawsOf = (spans: readonly unknown[], more: object = {}) => {
    const { rejected, flaws } = ofJson([{ resource, scopeSpans: [{ spans }], ...more }]);
    return { rejected, flaws };
  };

  it.each<[string, readonly unknown[], object]>([
    ['a span that is null', [null, good], { rejected: 1, flaws: { span_malformed: 1 } }],
    [
      'attributes that are an object',
      [{ ...others, attributes: { k: 'v' } }],
      { rejected: 1, flaws: { span_malformed: 1 } },
    ],
    ['a span without ids', [{ name: 'x' }], { rejected: 1, flaws: { span_without_id: 1 } }],
    [
      'ids in base64',
      [{ traceId: '7I2iHluGZ4+V+hbay9iCtg==', spanId: 'yDsNzu/jAW4=' }],
      { rejected: 1, flaws: { span_without_id: 1 } },
    ],
    [
      'attributes that are null',
      [{ ...others, attributes: [null, { key: null }] }],
      { rejected: 0, flaws: { attribute_malformed: 2 } },
    ],
    ['an attribute without a value', [{ ...others, attributes: [{ key: 'k' }] }], { rejected: 0, flaws: {} }],
    ['events that are not a list', [{ ...others, events: 7 }], { rejected: 0, flaws: { attribute_malformed: 1 } }],
    [
      'a deep attribute of a retriever',
      [{ ...others, attributes: [good.attributes[0], { key: 'output.value', value: deep(20) }] }],
      { rejected: 0, flaws: { attribute_too_deep: 1 } },
    ],
    [
      'a deep attribute that recalld does not use',
      [{ ...others, attributes: [{ key: 'tool.args', value: deep(20) }] }],
      { rejected: 0, flaws: {} },
    ],
  ])('for %s', (_, spans, expected) => {
    expect(flawsOf(spans)).toEqual(expected);
  });

  it('for an unreadable resource, whose spans are still read', () => {
    for (const broken of [7, { attributes: { 'service.name': 'rag' } }])
      expect(flawsOf([good], { resource: broken })).toEqual({ rejected: 0, flaws: { resource_malformed: 1 } });
  });

  it('and reports a misspelled field', () => {
    const misnamed = (body: object) =>
      readTraces(contentOf(Buffer.from(JSON.stringify(body)), 'application/json'), pipelines).misnamed;
    expect(misnamed({ resource_spans: [] })).toBe('resource_spans');
    expect(misnamed({ resourceSpans: [{ instrumentationLibrarySpans: [] }] })).toBe('instrumentationLibrarySpans');
    expect(misnamed({ resourceSpans: [{ resource, scopeSpans: [{ spans: [good] }] }] })).toBeNull();
    expect(misnamed({})).toBeNull();
  });
});

/** A length-delimited field in the protobuf wire format. */
function delimited(field: number, content: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32(field * 8 + 2)
    .bytes(content)
    .finish();
}
