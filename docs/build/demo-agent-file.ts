/** Recorded LangGraph traces, which the demo's agent sends with the demo's texts in place of the recorded texts. */
import { gunzipSync } from 'node:zlib';
import type { RecordedTrace, RecordedTraces } from '../../src/demo/agent-spans.ts';
import { decodeTraces } from '../../src/live/otlp/decode.ts';
import { contentOf, defaultOtlpLimits } from '../../src/live/otlp/parse.ts';
import { type OtlpSpan, readText } from '../../src/live/rules/otel/span.ts';
import { type Retrieval, readRecordings } from '../../test/interop/tracing/recording.ts';
import type { Page } from './page.ts';

const RECORDING = 'langgraph-openinference';

/** Returns the file with one recorded trace for each number of retrievals per turn. */
export function demoAgentFile(): Page {
  const recording = readRecordings().find(({ name }) => name === RECORDING);
  if (recording === undefined) throw new Error(`There is no recording named ${RECORDING}.`);
  const spans = recording.requests.flatMap(({ body, contentType, contentEncoding }) => {
    const bytes = Buffer.from(body, 'base64');
    const content = contentOf(contentEncoding === 'gzip' ? gunzipSync(bytes) : bytes, contentType);
    return decodeTraces(content, defaultOtlpLimits).items;
  });
  const traces = [...new Set(spans.map(({ traceId }) => traceId))]
    .map((id) => spans.filter(({ traceId }) => traceId === id))
    .map((own) => recordedTrace(own, recording.retrievals));
  const counts = [...new Set(traces.map(({ retrievals }) => retrievals.length))];
  const [first] = spans;
  const file: RecordedTraces = {
    versions: recording.versions,
    date: recording.date,
    resource: first?.resource.attributes ?? {},
    scope: first?.scope ?? { name: '', version: '' },
    traces: counts.flatMap((count) => traces.find(({ retrievals }) => retrievals.length === count) ?? []),
  };
  return { path: 'src/demo/data/langgraph/traces.json', text: `${JSON.stringify(file, null, 1)}\n` };
}

function recordedTrace(spans: readonly OtlpSpan[], retrievals: readonly Retrieval[]): RecordedTrace {
  const start = spans.reduce(
    (first, span) => (span.startTimeUnixNano < first ? span.startTimeUnixNano : first),
    2n ** 64n,
  );
  const since = (at: bigint) => Number(at - start);
  const root = spans.find(({ parentSpanId }) => parentSpanId === null);
  const queries = spans
    .filter(({ attributes }) => attributes['openinference.span.kind'] === 'RETRIEVER')
    .map(({ attributes }) => readText(attributes['input.value']) ?? '');
  return {
    question: readText(root?.attributes['llm.input_messages.0.message.content']) ?? '',
    retrievals: queries.map((query) => ({
      query,
      texts: retrievals.find((retrieval) => retrieval.query === query)?.results.map(({ text }) => text) ?? [],
    })),
    spans: spans.map(({ name, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano, attributes }) => ({
      name,
      id: spanId,
      parentId: parentSpanId,
      startNs: since(startTimeUnixNano),
      endNs: since(endTimeUnixNano),
      attributes: attributes as RecordedTrace['spans'][number]['attributes'],
    })),
  };
}
