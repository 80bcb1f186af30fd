import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { AgentTurn } from '../../../src/demo/agent.ts';
import { createAgentTracer } from '../../../src/demo/agent-spans.ts';
import { decodeTraces } from '../../../src/live/otlp/decode.ts';
import { readTraces } from '../../../src/live/otlp/extraction.ts';
import { contentOf, defaultOtlpLimits, type OtlpContent } from '../../../src/live/otlp/parse.ts';
import type { OtlpSpan } from '../../../src/live/rules/otel/span.ts';
import { readRecordings } from '../../interop/tracing/recording.ts';

const tracer = await createAgentTracer();
const occurredAt = new Date('2026-03-02T08:00:00Z');
const kb = (id: string, text: string) => ({ id, text, metadata: {} });
const missing = kb('kb-107', 'Cancel a subscription at any time: it ends with the month that was paid.');

function retrieval(text: string, documents: AgentTurn['retrievals'][number]['documents'], error: string | null = null) {
  return {
    text,
    documents,
    answer: { results: documents.map(({ id }) => ({ id, score: 0.5 })), latencyMs: 12.5, error },
  };
}

function contentOfTurns(...turns: readonly AgentTurn[]): OtlpContent {
  return contentOf(Buffer.from(JSON.stringify(tracer.exportOf(turns))), 'application/json');
}

/** Content of a span without its ids, its times and the attributes that the demo adds. */
function comparable(spans: readonly OtlpSpan[]) {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ name, status, parentSpanId, attributes, scope }) => ({
    name,
    status,
    scope,
    parent: names.get(parentSpanId ?? '') ?? null,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([key, value]) => {
        if (typeof value !== 'string' || !/^[[{]/.test(value)) return [key, value];
        // Ids of messages and runs also differ between two turns in the recording.
        const parsed = JSON.stringify(JSON.parse(value)).replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f-]{22,}/g, 'ID');
        return [key, parsed.replace(',"tenant":"acme"', '')];
      }),
    ),
  }));
}

describe('the spans of the demo agent', () => {
  it('equal those of a real LangGraph agent that asks the same queries', () => {
    const recording = readRecordings().find(({ name }) => name === 'langgraph-openinference');
    const recorded = (recording?.requests ?? []).flatMap(({ body, contentType }) => {
      const content = contentOf(gunzipSync(Buffer.from(body, 'base64')), contentType);
      return decodeTraces(content, defaultOtlpLimits).items;
    });
    const twice = recorded.filter(({ traceId }) => traceId === recorded.at(-1)?.traceId);
    const turn: AgentTurn = {
      question: 'My parcel is late and I lost my phone.',
      sessionId: 'session-7',
      occurredAt,
      retrievals: [
        retrieval('late parcel lost', [
          kb('kb-104', 'A parcel that is late by three days counts as lost; we send a new one.'),
          missing,
        ]),
        retrieval('lost phone recovery codes', [
          kb('kb-105', 'Two-factor codes come from an app. Recovery codes replace a lost phone.'),
          missing,
        ]),
      ],
    };
    const sent = decodeTraces(contentOfTurns(turn), defaultOtlpLimits).items;
    expect(sent).toHaveLength(13);
    expect(comparable(sent)).toEqual(comparable(twice));
  });

  it('become one episode of live queries for each question', () => {
    const document = { id: 'Packet_switching/1', text: 'A "packet" has\na header.', metadata: { tenant: 'public' } };
    const turn = { question: 'What is in a packet?', sessionId: 'session-1', occurredAt, retrievals: [] };
    const content = contentOfTurns(
      { ...turn, retrievals: [retrieval('packet', [missing]), retrieval('What is in a packet?', [document])] },
      { ...turn, sessionId: 'session-2', retrievals: [retrieval('packet', [], 'http_503')] },
    );
    const pipeline = { name: 'demo', serviceNames: [], segmentKeys: ['tenant'], fieldKeys: ['tenant'], tools: [] };
    const { queries, unreadableRetrievers } = readTraces(content, [pipeline]);
    expect(unreadableRetrievers).toEqual([]);
    expect(
      queries.map(({ text, results, latencyMs, error, sessionId, segments, episode }) => ({
        text,
        results,
        latencyMs,
        error,
        sessionId,
        segments: { ...segments },
        originalText: episode?.originalText,
      })),
    ).toEqual([
      {
        text: 'packet',
        results: [{ id: 'kb-107', score: null, fields: {} }],
        latencyMs: 12.5,
        error: null,
        sessionId: 'session-1',
        segments: { tenant: 'acme' },
        originalText: 'What is in a packet?',
      },
      {
        text: 'What is in a packet?',
        results: [{ id: 'Packet_switching/1', score: null, fields: { tenant: 'public' } }],
        latencyMs: 12.5,
        error: null,
        sessionId: 'session-1',
        segments: { tenant: 'acme' },
        originalText: 'What is in a packet?',
      },
      {
        text: 'packet',
        results: [],
        latencyMs: 12.5,
        error: 'http_503',
        sessionId: 'session-2',
        segments: { tenant: 'acme' },
        originalText: 'What is in a packet?',
      },
    ]);
    const [first, second, third] = queries.map(({ episode }) => episode?.id);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });
});
