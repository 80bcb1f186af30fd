/**
 * Recorded traces of a LangGraph agent, in the format of an OpenInference export. The demo replaces the ids, times and
 * texts in the recorded spans.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { RecalldError } from '../core/errors.ts';
import type { AgentTurn } from './agent.ts';
import { PIPELINE, TENANT } from './demo-config.ts';
import { readDemoFile } from './rag/corpus.ts';
import { postJson } from './rag/post-json.ts';

type AttributeText = string | number | boolean;

export interface RecordedTrace {
  readonly question: string;
  /** Retrievals in the order of their spans. */
  readonly retrievals: readonly { readonly query: string; readonly texts: readonly string[] }[];
  /** Spans in the order of the export. Times are in nanoseconds from the start of the trace. */
  readonly spans: readonly {
    readonly name: string;
    readonly id: string;
    readonly parentId: string | null;
    readonly startNs: number;
    readonly endNs: number;
    readonly attributes: Readonly<Record<string, AttributeText>>;
  }[];
}

/** Written by `npm run gen`. */
export interface RecordedTraces {
  readonly versions: Readonly<Record<string, string>>;
  readonly date: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: { readonly name: string; readonly version: string | null };
  /** Traces, each with a different number of retrievals. */
  readonly traces: readonly RecordedTrace[];
}

/** The file is in src/ even if this module runs from dist/. */
const file = join(import.meta.dirname, '../../src/demo/data/langgraph/traces.json');

/** @throws RecalldError file_unreadable */
export async function createAgentTracer() {
  const recorded = JSON.parse((await readDemoFile(file)).toString('utf8')) as RecordedTraces;
  /** Returns an OTLP export of the turns, in JSON. */
  const exportOf = (turns: readonly AgentTurn[]): object => ({
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ ...recorded.resource, 'service.name': PIPELINE }) },
        scopeSpans: [{ scope: recorded.scope, spans: turns.flatMap((turn) => spansOf(turn, recorded.traces)) }],
      },
    ],
  });
  return {
    exportOf,
    /** Exports turns to a daemon. @throws RecalldError demo_failed */
    async send(url: string, turns: readonly AgentTurn[], signal: AbortSignal): Promise<void> {
      const response = await postJson(`${url}/v1/traces`, exportOf(turns), signal);
      const answer = await response.text();
      // If the daemon rejects some of the spans, its response states the reason.
      if (!response.ok || answer !== '{}')
        throw new RecalldError('demo_failed', `The daemon rejected spans with status ${response.status}: ${answer}`);
    },
  };
}

function spansOf(turn: AgentTurn, traces: readonly RecordedTrace[]): object[] {
  const trace = traces.find(({ retrievals }) => retrievals.length === turn.retrievals.length);
  if (trace === undefined)
    throw new RecalldError('demo_failed', `No recorded turn has ${turn.retrievals.length} retrievals.`);
  const traceId = randomBytes(16).toString('hex');
  const ids = new Map(trace.spans.map(({ id }) => [id, randomBytes(8).toString('hex')]));
  const texts = textsOf(turn, trace);
  const timeAt = clockOf(turn, trace);
  let retrievals = 0;
  return trace.spans.map(({ name, id, parentId, startNs, endNs, attributes }) => {
    const retrieval = isRetriever(attributes) ? turn.retrievals[retrievals++] : undefined;
    const filled = filledIn(attributes, texts, turn.sessionId);
    return {
      traceId,
      spanId: ids.get(id),
      ...(parentId === null ? {} : { parentSpanId: ids.get(parentId) }),
      name,
      kind: 1,
      startTimeUnixNano: timeAt(startNs),
      endTimeUnixNano: timeAt(endNs),
      attributes: attributesOf(
        retrieval === undefined ? filled : { ...withoutDocuments(filled), ...documentsOf(retrieval) },
      ),
      ...outcomeOf(retrieval?.answer.error ?? null),
    };
  });
}

const isRetriever = (attributes: Readonly<Record<string, unknown>>): boolean =>
  attributes['openinference.span.kind'] === 'RETRIEVER';

/** Maps each recorded text to its replacement in the turn. */
function textsOf(turn: AgentTurn, trace: RecordedTrace): ReadonlyMap<string, string> {
  const pairs = trace.retrievals.flatMap(({ query, texts }, place): [string, string][] => {
    const { text = '', documents = [] } = turn.retrievals[place] ?? {};
    // The tool returns the texts to the agent.
    return [
      [query, text],
      [texts.join('\n'), documents.map((document) => document.text).join('\n')],
    ];
  });
  return new Map([[trace.question, turn.question], ...pairs]);
}

/**
 * Returns a function that maps recorded times to new times. Each retriever span then lasts as long as its search did.
 */
function clockOf({ occurredAt, retrievals }: AgentTurn, { spans }: RecordedTrace): (recordedNs: number) => string {
  const changes = spans
    .filter(({ attributes }) => isRetriever(attributes))
    .map(({ startNs, endNs }, place) => ({
      endNs,
      addedNs: Math.round((retrievals[place]?.answer.latencyMs ?? 0) * 1e6) - (endNs - startNs),
    }));
  const start = BigInt(occurredAt.getTime()) * 1_000_000n;
  return (recordedNs) => {
    const added = changes.reduce((sum, { endNs, addedNs }) => (recordedNs >= endNs ? sum + addedNs : sum), 0);
    return String(start + BigInt(recordedNs + added));
  };
}

/** Replaces recorded texts, which may occur alone, within JSON, or within JSON that is itself a string in JSON. */
function filledIn(
  attributes: RecordedTrace['spans'][number]['attributes'],
  texts: ReadonlyMap<string, string>,
  sessionId: string,
): Record<string, AttributeText> {
  const filled = Object.entries(attributes).map(([name, value]): [string, AttributeText] => {
    if (name === 'session.id') return [name, sessionId];
    if (typeof value !== 'string') return [name, value];
    if (name !== 'metadata') return [name, withTexts(value, texts)];
    return [name, JSON.stringify({ ...(JSON.parse(value) as object), tenant: TENANT })];
  });
  return Object.fromEntries(filled);
}

function withTexts(value: string, texts: ReadonlyMap<string, string>): string {
  const known = texts.get(value);
  if (known !== undefined || !/^[[{]/.test(value)) return known ?? value;
  return JSON.stringify(
    JSON.parse(value, (_, inner: unknown) => (typeof inner === 'string' ? withTexts(inner, texts) : inner)),
  );
}

const DOCUMENTS = 'retrieval.documents.';

function withoutDocuments(attributes: Readonly<Record<string, AttributeText>>): Record<string, AttributeText> {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith(DOCUMENTS)));
}

/** LangChain exports document ids only in `output.value`, and it records no scores. */
function documentsOf({ answer, documents }: AgentTurn['retrievals'][number]): Record<string, AttributeText> {
  if (answer.error !== null) return { 'output.value': '' };
  const listed = documents.map(({ id, text, metadata }) => ({ id, metadata, page_content: text, type: 'Document' }));
  return {
    'output.value': JSON.stringify({ documents: listed }),
    ...Object.fromEntries(documents.map(({ text }, place) => [`${DOCUMENTS}${place}.document.content`, text])),
  };
}

function outcomeOf(error: string | null): object {
  if (error === null) return { status: { code: 1 } };
  const attributes = attributesOf({ 'exception.type': error, 'exception.message': error });
  return { status: { code: 2, message: error }, events: [{ name: 'exception', attributes }] };
}

function attributesOf(values: Readonly<Record<string, unknown>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { stringValue: String(value) };
}
