/** Builds spans; fields that a test does not set have the default values of an SDK. */
import { type Extraction, extractLiveQueries } from '../../../../../src/live/rules/otel/extract.ts';
import type { ExtractionOptions } from '../../../../../src/live/rules/otel/retrieved-documents.ts';
import type { Attributes, OtlpLogRecord, OtlpSpan } from '../../../../../src/live/rules/otel/span.ts';

export const traceId = '5b8efff798038103d269b633813fc60c';

/** The id of the span with the given number: `spanId(7)` ends in 07. */
export const spanId = (number: number) => number.toString(16).padStart(16, '0');

/** The live query id of the span with the given number. */
export const queryId = (number: number) => `${traceId}-${spanId(number)}`;

interface SpanParts extends Partial<Omit<OtlpSpan, 'spanId' | 'parentSpanId' | 'events'>> {
  readonly id?: number;
  readonly parent?: number;
  readonly events?: readonly (readonly [name: string, attributes: Attributes])[];
}

const origin = {
  resource: { serviceName: 'rag', attributes: { 'service.name': 'rag', 'service.version': '2.3.0' } },
  scope: { name: 'test', version: '1' },
};

/** The time at which every span starts; each span takes 250 ms. */
export const startMs = Date.UTC(2026, 8, 1, 12);
const startNano = BigInt(startMs) * 1_000_000n;

export function aSpan({ id = 1, parent, events = [], ...parts }: SpanParts = {}): OtlpSpan {
  return {
    ...origin,
    traceId,
    spanId: spanId(id),
    parentSpanId: parent === undefined ? null : spanId(parent),
    traceState: '',
    name: 'span',
    startTimeUnixNano: startNano,
    endTimeUnixNano: startNano + 250_000_000n,
    attributes: {},
    droppedAttributesCount: 0,
    events: events.map(([name, attributes]) => ({ name, timeUnixNano: startNano, attributes })),
    droppedEventsCount: 0,
    links: [],
    status: { code: 'unset', message: '' },
    ...parts,
  };
}

export function aLogRecord(parts: Partial<OtlpLogRecord> = {}): OtlpLogRecord {
  return {
    ...origin,
    traceId,
    spanId: spanId(1),
    eventName: 'gen_ai.evaluation.result',
    timeUnixNano: startNano,
    attributes: {},
    ...parts,
  };
}

/** A retriever span in the format of OTel GenAI, with documents that have these ids. */
export function aRetriever(ids: readonly string[], parts: SpanParts = {}): OtlpSpan {
  const attributes = {
    'gen_ai.operation.name': 'retrieval',
    'gen_ai.retrieval.query.text': 'how do I reset my password',
    'gen_ai.retrieval.documents': ids.map((id, rank) => ({ id, score: 1 - rank / 10 })),
    ...parts.attributes,
  };
  return aSpan({ ...parts, attributes });
}

export const options: ExtractionOptions = {
  pipelineOf: ({ resource }) => (resource.serviceName === 'rag' ? 'support' : null),
  segmentKeysOf: () => [],
  fieldKeysOf: () => [],
  toolOf: () => null,
};

export function extract(spans: readonly OtlpSpan[], parts: Partial<ExtractionOptions> = {}): Extraction {
  return extractLiveQueries(spans, { ...options, ...parts });
}
