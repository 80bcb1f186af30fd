/** Large bodies are read in a worker thread, and small bodies on the main thread. */
import { afterAll, describe, expect, it } from 'vitest';
import { createOtlpReader, readLogs, readTraces, type TracedPipeline } from '../../../../src/live/otlp/extraction.ts';

const pipelines: TracedPipeline[] = [
  { name: 'docs', serviceNames: ['rag'], segmentKeys: ['tenant'], fieldKeys: [], tools: [] },
  { name: 'faq', serviceNames: [], segmentKeys: [], fieldKeys: [], tools: [] },
];
const reader = createOtlpReader(pipelines);
afterAll(() => reader.close());

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const hex = (n: number, digits: number) => n.toString(16).padStart(digits, '0');

/** A query with a session, a rating and two vectors of other texts, each in a separate span. */
function trace(n: number, documents: number) {
  const span = (id: number, parent: number, kind: string, ...attributes: object[]) => ({
    traceId: hex(n + 1, 32),
    spanId: hex(id, 16),
    parentSpanId: parent === 0 ? '' : hex(parent, 16),
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: `170000000000${id}000000`,
    attributes: [text('openinference.span.kind', kind), ...attributes],
  });
  const vector = { arrayValue: { values: [{ doubleValue: 0.6 }, { doubleValue: n / 100 }] } };
  const found = Array.from({ length: documents }, (_, rank) =>
    text(`retrieval.documents.${rank}.document.id`, `doc-${rank}`),
  );
  return [
    span(1, 0, 'CHAIN', text('session.id', `s-${n}`)),
    span(2, 1, 'RETRIEVER', text('input.value', `question ${n}`), text('tenant', 'acme'), ...found),
    ...[3, 5].map((id) =>
      span(id, 0, 'EMBEDDING', { key: 'embedding.vector', value: vector }, text('input.value', `${id}`)),
    ),
    span(
      4,
      1,
      'LLM',
      text('annotations.0.annotation.name', 'user feedback'),
      text('annotations.0.annotation.label', 'thumbs-up'),
      text('annotations.0.annotation.annotator_kind', 'HUMAN'),
    ),
  ];
}

function bodyOf(traces: number, documents = 10): Buffer {
  const spans = Array.from({ length: traces }, (_, n) => trace(n, documents)).flat();
  const resource = { attributes: [text('service.name', 'rag')] };
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [...spans, {}] }] }] }));
}

const json = 'application/json';
/** Everything that was read, in the order of ingestion. */
async function allOf(found: ReturnType<typeof reader.traces>) {
  const { batches, ...counts } = await found;
  const taken = [...batches];
  return {
    ...counts,
    queries: taken.flatMap(({ queries }) => queries),
    fragments: taken.flatMap(({ fragments }) => fragments),
    feedback: taken.flatMap(({ feedback }) => feedback),
    batches: taken,
  };
}

describe('a body', () => {
  it.each([
    ['small', 3],
    ['large', 400],
  ])(
    'that is %s yields no data for a key of another pipeline, even if the key has no other pipeline',
    async (_, traces) => {
      const body = bodyOf(traces);
      const { queries, feedback, spansWithoutPipeline } = await allOf(reader.traces(Buffer.from(body), json, ['faq']));
      expect({ queries, feedback, spansWithoutPipeline }).toEqual({
        queries: [],
        feedback: [],
        spansWithoutPipeline: traces,
      });
      expect((await allOf(reader.traces(body, json, ['docs']))).queries).toHaveLength(traces);
    },
  );

  it.each([
    ['small', 3],
    ['large', 400],
  ])('that is %s yields the same queries, fragments and feedback as a direct read', async (_, traces) => {
    const body = bodyOf(traces);
    const expected = readTraces({ format: 'json', bytes: body }, pipelines);
    expect(expected).toMatchObject({ liveQueries: traces, rejected: 1 });
    expect(expected.fragments.length).toBe(4 * traces);
    expect(expected.feedback).toHaveLength(traces);
    const { batches, fragments, ...found } = await allOf(reader.traces(body, json));
    const { fragments: anyOrder, ...rest } = expected;
    expect(found).toEqual(rest);
    const byTrace = (list: typeof anyOrder) => list.toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1));
    expect(byTrace(fragments)).toEqual(byTrace(anyOrder));
    expect(batches.length > 3).toBe(traces > 3);
  });

  it('of many traces is split into batches that never split a trace', async () => {
    const { batches } = await allOf(reader.traces(bodyOf(600, 30), json));
    for (const { queries, fragments } of batches) {
      expect(queries.length).toBeLessThanOrEqual(300);
      expect(fragments.length).toBeLessThanOrEqual(300);
    }
    const traces = batches.flatMap(({ fragments }) => [...new Set(fragments.map(({ traceId }) => traceId))]);
    expect(new Set(traces).size).toBe(traces.length);
  });

  it('of log records yields the same feedback as a direct read', async () => {
    const records = Array.from({ length: 1000 }, (_, n) => ({
      eventName: 'gen_ai.evaluation.result',
      timeUnixNano: '1700000000000000000',
      traceId: hex(n + 1, 32),
      spanId: hex(2, 16),
      attributes: [
        text('gen_ai.evaluation.name', 'user feedback'),
        text('gen_ai.evaluation.score.label', 'down'),
        text('gen_ai.evaluation.annotator_kind', 'HUMAN'),
      ],
    }));
    const resource = { attributes: [text('service.name', 'faq')] };
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords: records }] }] }));
    const { queries, fragments, feedback, ...expected } = readLogs({ format: 'json', bytes: body }, pipelines);
    expect({ queries, fragments }).toEqual({ queries: [], fragments: [] });
    const { batches, ...counts } = await reader.logs(body, json);
    expect(feedback).toHaveLength(1000);
    expect(counts).toEqual(expected);
    expect([...batches].flatMap((part) => part.feedback)).toEqual(feedback);
  });
});

describe('while a large body is read', () => {
  it('other work continues', async () => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    turn();
    await reader.traces(bodyOf(1500), json);
    isDone = true;
    expect(turns).toBeGreaterThan(100);
  });

  it('its errors are reported like those of a small body', async () => {
    const body = Buffer.from(`{"resourceSpans": ${' '.repeat(100_000)}`);
    await expect(reader.traces(body, json)).rejects.toMatchObject({
      code: 'otlp_malformed',
      message: expect.stringContaining('is not JSON'),
    });
  });

  it('further large bodies are rejected as retryable', async () => {
    const aBody = () => Buffer.from(`{"resourceSpans": []}${' '.repeat(15 * 1024 * 1024)}`);
    const sent = Array.from({ length: 4 }, () => reader.traces(aBody(), json));
    const refused = (await Promise.allSettled(sent)).filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([
      expect.objectContaining({ reason: expect.objectContaining({ code: 'overloaded', retryable: true }) }),
    ]);
    await expect(reader.traces(aBody(), json)).resolves.toMatchObject({ liveQueries: 0 });
  });
});
