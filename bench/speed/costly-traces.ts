/** OpenTelemetry bodies in JSON; no other body of the same size takes longer to read. */
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

const kind = text('openinference.span.kind', 'RETRIEVER');

let traces = Date.now();

function bodyOf(spans: readonly object[][]): Buffer {
  const sent = spans.map((attributes) => {
    traces += 1;
    return {
      traceId: traces.toString(16).padStart(32, '0'),
      spanId: traces.toString(16).padStart(16, '0'),
      name: 'retrieve',
      startTimeUnixNano: `${Date.now()}000000`,
      endTimeUnixNano: `${Date.now() + 20}000000`,
      attributes: [kind, ...attributes],
    };
  });
  return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: sent }] }] }));
}

function retrieved(documents: number): object[] {
  return Array.from({ length: documents }, (_, rank) => [
    text(`retrieval.documents.${rank}.document.id`, `d${rank}`),
    { key: `retrieval.documents.${rank}.document.score`, value: { doubleValue: 0.5 } },
  ]).flat();
}

const times = (count: number, make: () => object[]): object[][] => Array.from({ length: count }, make);

/** @param share size relative to the largest accepted body */
export function costlyTraces(share: number): Readonly<Record<string, () => Buffer>> {
  const part = (count: number) => Math.ceil(count * share);
  const hostile = '1.1.1.1 '.repeat(12_500);
  return {
    'queries with five documents': () =>
      bodyOf(times(part(10_000), () => [text('input.value', 'question'), ...retrieved(5)])),
    'queries with a thousand documents': () =>
      bodyOf(times(part(100), () => [text('input.value', 'question'), ...retrieved(1000)])),
    'one query with as many attributes as fit': () =>
      bodyOf([Array.from({ length: part(200_000) }, (_, i) => ({ key: `a${i}`, value: { boolValue: true } }))]),
    'queries with long texts that are slow to redact': () =>
      bodyOf(times(part(140), () => [text('input.value', hostile), ...retrieved(1)])),
  };
}
