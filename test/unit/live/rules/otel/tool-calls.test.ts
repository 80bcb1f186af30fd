import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../../../src/live/otlp/extraction.ts';
import { contentOf } from '../../../../../src/live/otlp/parse.ts';
import { unreadableText } from '../../../../../src/live/rules/otel/unreadable-retriever.ts';
import { readRecordings } from '../../../../interop/tracing/recording.ts';
import { aSpan, extract } from './telemetry.ts';

const aTool = (id: number, name: string, parent = 9) =>
  aSpan({ id, parent, name, attributes: { 'openinference.span.kind': 'TOOL' } });
const aModelCall = aSpan({ id: 5, name: 'chat gpt-5', attributes: { 'gen_ai.operation.name': 'chat' } });
const search = { id: 2, attributes: { 'gen_ai.operation.name': 'retrieval', 'gen_ai.retrieval.documents': '[]' } };

describe('searches without a retriever span', () => {
  it('are reported with the names of search tools, but not of other tools', () => {
    const { queries, untracedSearches } = extract([aTool(1, 'search_docs'), aTool(2, 'send_mail'), aModelCall]);
    expect(queries).toEqual([]);
    expect(untracedSearches).toEqual([
      { pipeline: 'support', instrumentation: 'test', reason: 'tool', attributes: ['search_docs'], spans: 1 },
    ]);
  });

  it('are not reported if a retriever span is inside or around the tool span', () => {
    expect(extract([aTool(1, 'search_docs'), aSpan({ ...search, parent: 1 })]).untracedSearches).toEqual([]);
    expect(extract([aTool(1, 'search_docs', 2), aSpan(search)]).untracedSearches).toEqual([]);
  });

  it('are reported as model calls if there is neither a search tool nor a retriever span', () => {
    expect(extract([aModelCall]).untracedSearches).toMatchObject([{ reason: 'model_calls', attributes: [], spans: 1 }]);
    expect(extract([aModelCall, aSpan(search)]).untracedSearches).toEqual([]);
  });
});

it('reports the untraced searches of a recorded AI SDK agent if the config does not list its tool', () => {
  const recording = readRecordings().find(({ name }) => name === 'ai-sdk');
  const [request] = recording?.requests ?? [];
  const body = gunzipSync(Buffer.from(request?.body ?? '', 'base64'));
  const pipeline = { name: 'shop', serviceNames: [], segmentKeys: [], fieldKeys: [], tools: [] };
  const { queries, untracedSearches } = readTraces(contentOf(body, request?.contentType), [pipeline]);
  expect(queries).toEqual([]);
  expect(untracedSearches).toMatchObject([
    { pipeline: 'shop', instrumentation: 'ai', reason: 'tool', attributes: ['search_docs'], spans: 5 },
  ]);
});

it('the message about unread spans states the reason, and how to configure an unlisted tool', () => {
  const kind = { pipeline: 'support', instrumentation: 'test', attributes: ['search_docs'], spans: 2 };
  expect(unreadableText({ ...kind, reason: 'tool' }, '')).toContain(
    "2 tool calls of test produced no live query: the search is a tool that the config does not list. Fix: add {name: search_docs} to the pipeline's retrieval_tools",
  );
  expect(unreadableText({ ...kind, reason: 'model_calls' }, '')).toContain(
    '2 model calls of test produced no live query',
  );
});
