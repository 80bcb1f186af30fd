import { describe, expect, it } from 'vitest';
import { retrievalToolsSchema } from '../../../../src/live/config.ts';
import { createToolFinder } from '../../../../src/live/otlp/retrieval-tools.ts';
import type { Attributes } from '../../../../src/live/rules/otel/span.ts';
import { aRetriever, aSpan, extract, queryId } from '../rules/otel/telemetry.ts';

const found = (tools: unknown, spans: Parameters<typeof extract>[0]) =>
  extract(spans, { toolOf: createToolFinder(retrievalToolsSchema.parse(tools)) });

const search = (attributes: Attributes, id = 1) =>
  aSpan({ id, name: 'search_docs', attributes: { 'openinference.span.kind': 'TOOL', ...attributes } });

describe('a call of a tool named in the config', () => {
  it('becomes a live query with the text and documents of the standard attributes', () => {
    const { queries } = found(
      [{ name: 'search_docs' }],
      [
        search({
          'input.value': '{"query": "late parcel"}',
          'output.value': '{"documents": [{"id": "a", "score": 0.5}]}',
        }),
      ],
    );
    expect(queries).toMatchObject([{ text: 'late parcel', results: [{ id: 'a', score: 0.5 }] }]);
  });

  it('is read with the expressions in the config, even if the result contains JSON encoded as a string', () => {
    const tools = [
      { name: 'search_docs', text: 'filter.words', results: { list: 'content', id: 'meta.key', score: 'meta.match' } },
    ];
    const items = JSON.stringify([{ meta: { key: 7, match: '0.25' } }, { meta: { key: 'b' } }]);
    const { queries } = found(tools, [
      aSpan({
        name: 'execute_tool search_docs',
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'search_docs',
          'gen_ai.tool.call.arguments': '{"filter": {"words": "late parcel"}}',
          'gen_ai.tool.call.result': JSON.stringify({ type: 'tool', content: items }),
        },
      }),
    ]);
    expect(queries).toMatchObject([
      {
        text: 'late parcel',
        results: [
          { id: '7', score: 0.25 },
          { id: 'b', score: null },
        ],
      },
    ]);
  });

  it('is merged with the retriever that it calls into one query', () => {
    const { queries } = found(
      [{ name: 'search_docs' }],
      [
        search({ 'input.value': 'late parcel', 'output.value': 'It is on its way.' }, 9),
        aRetriever(['a'], { parent: 9 }),
      ],
    );
    expect(queries).toMatchObject([{ id: queryId(9), text: 'late parcel', results: [{ id: 'a' }] }]);
  });

  it('is reported as unreadable if its result has no documents', () => {
    const { queries, unreadableRetrievers } = found([{ name: 'search_docs' }], [search({ 'output.value': 'Sorry.' })]);
    expect(queries).toEqual([]);
    expect(unreadableRetrievers).toMatchObject([{ reason: 'unknown_shape', spans: 1 }]);
  });
});

it('ignores calls of other tools, and spans that have the name of a configured tool but are not tool calls', () => {
  const result = { 'output.value': '{"documents": [{"id": "a"}]}' };
  const { queries, ignoredSpans } = found(
    [{ name: 'search_docs' }],
    [
      aSpan({ id: 1, name: 'search_docs', attributes: result }),
      aSpan({ id: 2, name: 'send_mail', attributes: { 'openinference.span.kind': 'TOOL', ...result } }),
    ],
  );
  expect(queries).toEqual([]);
  expect(ignoredSpans).toBe(2);
});

it('rejects a config with an invalid JMESPath expression, and reports the path of the expression', () => {
  const { error } = retrievalToolsSchema.safeParse([{ name: 'search_docs', results: { list: 'a[' } }]);
  expect(error?.issues).toMatchObject([{ path: [0, 'results', 'list'] }]);
});
