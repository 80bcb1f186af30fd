import { describe, expect, it } from 'vitest';
import type { Attributes, OtlpSpan } from '../../../../../src/live/rules/otel/span.ts';
import { completeQueries } from '../../../../../src/live/rules/otel/trace-fragment.ts';
import { aRetriever, aSpan, extract, queryId, startMs, traceId } from './telemetry.ts';

const kind = (name: string): Attributes => ({ 'openinference.span.kind': name });
const agent = kind('AGENT');
const chain = kind('CHAIN');
const workflow: Attributes = { 'gen_ai.operation.name': 'invoke_workflow' };

/** Returns a span that starts at `from` and ends at `to`, in milliseconds after the default start time. */
function running(id: number, [from, to]: readonly [number, number], parts: Parameters<typeof aSpan>[0]): OtlpSpan {
  const nano = (ms: number) => BigInt(startMs + ms) * 1_000_000n;
  return aSpan({ id, startTimeUnixNano: nano(from), endTimeUnixNano: nano(to), ...parts });
}

const episodes = (spans: readonly OtlpSpan[]) =>
  Object.fromEntries(extract(spans).queries.map(({ id, episode }) => [id, episode?.id]));

describe('the episode of a retriever span', () => {
  it('is the nearest agent around it, even if a chain is nearer', () => {
    expect(
      episodes([
        aSpan({ id: 9, attributes: agent }),
        aSpan({ id: 8, parent: 9, attributes: agent }),
        aSpan({ id: 7, parent: 8, attributes: chain }),
        aRetriever(['a'], { id: 1, parent: 7 }),
        aRetriever(['b'], { id: 2, parent: 9 }),
      ]),
    ).toEqual({ [queryId(1)]: queryId(8), [queryId(2)]: queryId(9) });
  });

  it('is the workflow or outermost chain around it if no agent encloses it, because every step of a graph is a chain', () => {
    const graph = (root: Attributes) => [
      aSpan({ id: 9, attributes: root }),
      aSpan({ id: 7, parent: 9, attributes: chain }),
      aRetriever(['a'], { id: 1, parent: 7 }),
      aSpan({ id: 6, parent: 9, attributes: chain }),
      aRetriever(['b'], { id: 2, parent: 6 }),
    ];
    const both = { [queryId(1)]: queryId(9), [queryId(2)]: queryId(9) };
    expect(episodes(graph(workflow))).toEqual(both);
    expect(episodes(graph(chain))).toEqual(both);
  });

  it('is the trace if no agent, workflow or chain encloses it, or if its ancestors are in another export', () => {
    expect(episodes([aSpan({ id: 9 }), aRetriever(['a'], { parent: 9 })])).toEqual({ [queryId(1)]: traceId });
    expect(episodes([aSpan({ id: 7, parent: 9, attributes: chain }), aRetriever(['a'], { parent: 7 })])).toEqual({
      [queryId(1)]: traceId,
    });
  });

  it.each([
    ['OpenInference', kind('AGENT')],
    ['OTel GenAI', { 'gen_ai.operation.name': 'invoke_agent' }],
    ['Langfuse', { 'langfuse.observation.type': 'agent' }],
    ['MLflow', { 'mlflow.spanType': '"AGENT"' }],
    ['OpenLLMetry', { 'traceloop.span.kind': 'agent' }],
    ['the AI SDK', { 'ai.operationId': 'ai.generateText' }],
  ])('is an agent of %s', (_name, attributes: Attributes) => {
    const spans = [aSpan({ id: 9, attributes }), aRetriever(['a'], { parent: 9 })];
    expect(episodes(spans)).toEqual({ [queryId(1)]: queryId(9) });
  });

  it.each([
    ['a plain text', { 'input.value': 'where is it' }],
    ['the messages of LangGraph', { 'input.value': '{"messages": [["system", "be kind"], ["user", "where is it"]]}' }],
    [
      'messages of OTel GenAI',
      { 'gen_ai.input.messages': '[{"role": "user", "parts": [{"type": "text", "content": "where is it"}]}]' },
    ],
    [
      'messages of Pydantic AI, ignoring tool results',
      {
        'pydantic_ai.all_messages':
          '[{"role": "user", "parts": [{"type": "text", "content": "where is it"}]}, {"role": "user", "parts": [{"type": "tool_call_response", "result": "lost"}]}]',
      },
    ],
    ['messages of the AI SDK', { 'ai.prompt': '{"messages": [{"role": "user", "content": "where is it"}]}' }],
  ])('has the original text of the user, read from %s', (_name, input: Attributes) => {
    const { queries } = extract([
      aSpan({ id: 9, attributes: { ...agent, ...input } }),
      aRetriever(['a'], { parent: 9 }),
    ]);
    expect(queries[0]?.episode?.originalText).toBe('where is it');
  });
});

describe('an episode that arrives in a later export', () => {
  const retrievals = [
    aRetriever(['a'], { id: 1, parent: 7 }),
    running(2, [300, 400], { attributes: aRetriever(['b']).attributes, parent: 6 }),
  ];
  const first = extract([aSpan({ id: 7, parent: 9, attributes: chain }), ...retrievals]);
  const idsAfter = (queries: typeof first.queries, spans: readonly OtlpSpan[]) => {
    const { fragments } = extract(spans);
    return completeQueries(queries, [...first.fragments, ...fragments]).queries;
  };
  const ids = (queries: typeof first.queries) => queries.map(({ episode }) => episode?.id);

  it('is the span that was running when the retrieval started, with the original text of the user', () => {
    const root = running(9, [-10, 500], { attributes: { ...chain, 'input.value': 'where is it' } });
    const queries = idsAfter(first.queries, [root]);
    expect(queries.map(({ episode }) => episode)).toEqual([
      { id: queryId(9), step: null, originalText: 'where is it' },
      { id: queryId(9), step: null, originalText: 'where is it' },
    ]);
  });

  it('is the innermost agent that was running, whichever export arrives first', () => {
    const inner = running(8, [-5, 290], { parent: 9, attributes: agent });
    const outer = running(9, [-10, 500], { attributes: agent });
    const expected = [queryId(8), queryId(9)];
    expect(ids(idsAfter(first.queries, [inner, outer]))).toEqual(expected);
    expect(ids(idsAfter(idsAfter(first.queries, [inner]), [inner, outer]))).toEqual(expected);
  });

  it('replaces the chain of an earlier export if it is an agent', () => {
    const root = running(9, [-10, 500], { attributes: chain });
    const inner = running(8, [-5, 450], { parent: 9, attributes: agent });
    const known = idsAfter(first.queries, [root]);
    expect(ids(known)).toEqual([queryId(9), queryId(9)]);
    expect(ids(idsAfter(known, [root, inner]))).toEqual([queryId(8), queryId(8)]);
  });

  it('never replaces an episode that the service reported', () => {
    const own = first.queries.map((query) => ({ ...query, episode: { id: 'turn-9', step: 1, originalText: null } }));
    expect(ids(idsAfter(own, [running(9, [-10, 500], { attributes: agent })]))).toEqual(['turn-9', 'turn-9']);
  });
});

it('treats a search in the memory of an agent as a retrieval', () => {
  const { queries, unreadableRetrievers } = extract([
    aSpan({
      attributes: {
        'gen_ai.operation.name': 'search_memory',
        'gen_ai.memory.query.text': 'what does ann like',
        'gen_ai.memory.records': '[{"id": "m1", "content": "tea", "score": 0.5}, {"id": "m2", "content": "rain"}]',
      },
    }),
    aSpan({ id: 2, attributes: { 'gen_ai.operation.name': 'search_memory', 'gen_ai.memory.record.count': 0 } }),
  ]);
  expect(unreadableRetrievers).toEqual([]);
  expect(queries).toMatchObject([
    {
      text: 'what does ann like',
      results: [
        { id: 'm1', score: 0.5 },
        { id: 'm2', score: null },
      ],
    },
    { results: [], error: null },
  ]);
});
