/**
 * Requests with a canary in every field that a service can send, so that a canary found later identifies its field.
 * According to docs/how-to/privacy.md, recalld may store only the fields in `identifiers` unchanged.
 */
import { randomBytes } from 'node:crypto';

/** Returns the canary for the field with this name. */
export type Canary = (field: string) => string;

export const identifiers = [
  'id_query',
  'id_trace',
  'id_episode',
  'id_document',
  'id_segment_key',
  'id_segment_value',
  'id_index',
  'id_embedder',
  'id_retriever',
  'id_feedback',
  'id_feedback_document',
  'id_otlp_document',
  'id_langchain_source',
  'id_otlp_judged_document',
  'id_otlp_segment',
  'id_otlp_data_source',
  'id_otlp_collection',
  'id_otlp_model',
  'id_otlp_service',
] as const;

export const retrieved = (canary: Canary) => [{ id: canary('id_document'), score: 0.5 }];

/** Returns a live query with every field of the API contract. */
export function aFullQuery(canary: Canary, pipeline: string, more: object = {}) {
  return {
    id: canary('id_query'),
    pipeline,
    occurred_at: new Date().toISOString(),
    text: `who is ${canary('text')}`,
    embedding: [0.6, 0.8],
    top_k: 5,
    session_id: canary('session_id'),
    trace_id: canary('id_trace'),
    episode: { id: canary('id_episode'), step: 1, original_text: `who is ${canary('original_text')}` },
    results: retrieved(canary),
    latency_ms: 12,
    error: canary('error'),
    segments: { [canary('id_segment_key')]: canary('id_segment_value'), course: canary('id_segment_value') },
    user_id: canary('user_id'),
    versions: {
      index: canary('id_index'),
      embedder: canary('id_embedder'),
      retriever: canary('id_retriever'),
    },
    sampling: { probability: 0.5 },
    ...more,
  };
}

/** Returns feedback with every field of the API contract. */
export function aFullFeedback(canary: Canary, pipeline: string, more: object = {}) {
  return {
    id: canary('id_feedback'),
    query_id: canary('id_query'),
    pipeline,
    kind: 'thumb',
    value: 'down',
    document_id: canary('id_feedback_document'),
    rank: 1,
    occurred_at: new Date().toISOString(),
    user_id: canary('feedback_user_id'),
    comment: `${canary('comment')} is wrong`,
    ...more,
  };
}

type Value = string | number | readonly number[];

const attributes = (of: Readonly<Record<string, Value>>) =>
  Object.entries(of).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'number'
          ? { doubleValue: value }
          : { arrayValue: { values: value.map((number) => ({ doubleValue: number })) } },
  }));

interface SpanParts {
  readonly parent?: string;
  readonly error?: string;
  readonly events?: readonly (readonly [string, Readonly<Record<string, Value>>])[];
}

/** Returns a span, which is in a separate trace by default. */
function span(canary: Canary, of: Readonly<Record<string, Value>>, parts: SpanParts = {}, traceId = hex(16)) {
  const endedAt = `${BigInt(Date.now()) * 1_000_000n}`;
  return {
    traceId,
    spanId: hex(8),
    ...(parts.parent === undefined ? {} : { parentSpanId: parts.parent }),
    name: canary('otlp_span_name'),
    traceState: `vendor=${canary('otlp_trace_state')}`,
    startTimeUnixNano: endedAt,
    endTimeUnixNano: endedAt,
    attributes: attributes({ 'url.full': canary('otlp_any_attribute'), ...of }),
    status: parts.error === undefined ? { code: 1 } : { code: 2, message: parts.error },
    events: (parts.events ?? []).map(([name, eventAttributes]) => ({
      name,
      timeUnixNano: endedAt,
      attributes: attributes(eventAttributes),
    })),
  };
}

const hex = (bytes: number) => randomBytes(bytes).toString('hex');

const exception = (canary: Canary) =>
  [
    'exception',
    {
      'exception.type': canary('otlp_exception_type'),
      'exception.message': `${canary('otlp_exception')}Error: ${canary('otlp_exception_message')}`,
      'exception.stacktrace': canary('otlp_stack'),
    },
  ] as const;

/**
 * Spans of a chain (an embedding, a retriever with a user's feedback, and a reranker), of failing retrievers, and of
 * traces without a retriever.
 */
function openInference(canary: Canary) {
  const people = {
    'session.id': canary('otlp_session'),
    'user.id': canary('otlp_user'),
    metadata: JSON.stringify({ course: canary('id_otlp_segment'), note: canary('otlp_metadata') }),
    'tag.tags': canary('otlp_tag'),
  };
  const kind = (name: string) => ({ 'openinference.span.kind': name });
  const documents = (prefix: string) => ({
    [`${prefix}.0.document.id`]: canary('id_otlp_document'),
    [`${prefix}.0.document.content`]: canary('otlp_content'),
    [`${prefix}.0.document.metadata`]: JSON.stringify({ title: canary('otlp_document_title') }),
    [`${prefix}.1.document.content`]: canary('otlp_content_without_id'),
  });
  const asked = { 'input.value': `who is ${canary('otlp_input')}`, 'output.value': canary('otlp_output') };
  const judged = (name: string, identifier: string) => ({
    'annotations.0.annotation.name': `${name} thumb`,
    'annotations.0.annotation.label': 'down',
    'annotations.0.annotation.explanation': canary('otlp_explanation'),
    'annotations.0.annotation.annotator_kind': 'HUMAN',
    'annotations.0.annotation.identifier': identifier,
    'annotations.0.annotation.metadata': JSON.stringify({ document_id: canary('id_otlp_judged_document') }),
  });
  const chain = span(canary, { ...kind('CHAIN'), ...people, ...asked });
  const within = { parent: chain.spanId };
  const retriever = span(
    canary,
    {
      ...kind('RETRIEVER'),
      ...asked,
      ...documents('retrieval.documents'),
      ...judged(canary('otlp_annotation_name'), canary('otlp_identifier')),
    },
    within,
    chain.traceId,
  );
  const embedding = {
    ...kind('EMBEDDING'),
    'embedding.model_name': canary('id_otlp_model'),
    'embedding.embeddings.0.embedding.text': `who is ${canary('otlp_input')}`,
    'embedding.embeddings.0.embedding.vector': [0.6, 0.8],
  };
  const reranker = {
    ...kind('RERANKER'),
    'reranker.query': `who is ${canary('otlp_input')}`,
    ...documents('reranker.output_documents'),
  };
  return [
    chain,
    retriever,
    span(canary, embedding, { parent: retriever.spanId }, chain.traceId),
    span(canary, reranker, within, chain.traceId),
    span(
      canary,
      { ...kind('RETRIEVER'), ...asked, 'error.type': canary('otlp_error_type') },
      { error: canary('otlp_status') },
    ),
    span(canary, { ...kind('RETRIEVER'), ...asked }, { error: canary('otlp_status'), events: [exception(canary)] }),
    // recalld holds the following spans until their retriever span arrives, which never happens.
    span(canary, embedding),
    span(canary, reranker),
    span(canary, { ...kind('CHAIN'), ...people }),
  ];
}

/** Spans of LangChain's instrumentation, which puts documents in the output and the stack trace in the status. */
function langChain(canary: Canary) {
  const asked = {
    'openinference.span.kind': 'RETRIEVER',
    'input.value': `who is ${canary('langchain_input')}`,
  };
  const pageContent = canary('langchain_content');
  const found = [{ pageContent, metadata: { source: canary('id_langchain_source') } }];
  const message = canary('langchain_message');
  return [
    span(canary, { ...asked, 'output.value': JSON.stringify({ documents: found }) }),
    span(canary, asked, {
      error: `${message}\n\n${canary('langchain_class')}: ${message}\n at ${canary('langchain_frame')}`,
    }),
  ];
}

function otelGenAi(canary: Canary) {
  const documents = [{ id: canary('id_otlp_document'), content: canary('genai_content'), score: 0.5 }];
  return [
    span(
      canary,
      {
        'gen_ai.operation.name': 'retrieval',
        'gen_ai.retrieval.query.text': `who is ${canary('genai_query')}`,
        'gen_ai.retrieval.documents': JSON.stringify(documents),
        'gen_ai.data_source.id': canary('id_otlp_data_source'),
        'gen_ai.request.model': canary('id_otlp_model'),
        'gen_ai.conversation.id': canary('genai_conversation'),
        'gen_ai.input.messages': canary('genai_messages'),
        'enduser.id': canary('genai_user'),
        course: canary('id_otlp_segment'),
      },
      {
        events: [
          [
            'gen_ai.evaluation.result',
            {
              'gen_ai.evaluation.name': 'user thumb',
              'gen_ai.evaluation.score.label': 'down',
              'gen_ai.evaluation.explanation': canary('genai_explanation'),
              'gen_ai.response.id': canary('genai_response'),
            },
          ],
        ],
      },
    ),
  ];
}

function langfuse(canary: Canary) {
  const asked = {
    'langfuse.observation.type': 'retriever',
    'langfuse.observation.input': JSON.stringify({
      query: `who is ${canary('langfuse_input')}`,
      other: canary('langfuse_other'),
    }),
    'langfuse.trace.name': canary('langfuse_trace_name'),
    'langfuse.trace.tags': canary('langfuse_tags'),
    'langfuse.user.id': canary('langfuse_user'),
    'langfuse.session.id': canary('langfuse_session'),
    'langfuse.trace.metadata.course': canary('id_otlp_segment'),
    'langfuse.trace.metadata.note': canary('langfuse_note'),
  };
  const output = [{ id: canary('id_otlp_document'), text: canary('langfuse_content') }];
  return [
    span(canary, { ...asked, 'langfuse.observation.output': JSON.stringify(output) }),
    span(canary, {
      ...asked,
      'langfuse.observation.level': 'ERROR',
      'langfuse.observation.status_message': `${canary('langfuse_class')}Error: ${canary('langfuse_status')}`,
    }),
  ];
}

function openLlmetry(canary: Canary) {
  return [
    span(
      canary,
      {
        'db.system': 'qdrant',
        'db.operation': 'query',
        'db.collection.name': canary('id_otlp_collection'),
        'db.statement': canary('openllmetry_statement'),
        'traceloop.entity.input': JSON.stringify({ question: `who is ${canary('openllmetry_input')}` }),
        'traceloop.association.properties.user_id': canary('openllmetry_user'),
        'traceloop.association.properties.session_id': canary('openllmetry_session'),
        'traceloop.association.properties.course': canary('id_otlp_segment'),
        'traceloop.association.properties.name': canary('openllmetry_property'),
      },
      {
        events: [
          [
            'db.query.result',
            {
              'db.query.result.id': canary('id_otlp_document'),
              'db.query.result.score': 0.5,
              'db.query.result.document': canary('openllmetry_document'),
              'db.query.result.metadata': JSON.stringify({ title: canary('openllmetry_title') }),
            },
          ],
        ],
      },
    ),
  ];
}

const resource = (canary: Canary, pipeline: string) => ({
  attributes: attributes({
    'recalld.pipeline': pipeline,
    'service.name': canary('otlp_service_name'),
    'service.version': canary('id_otlp_service'),
    'host.name': canary('otlp_host'),
  }),
});

/** Returns request bodies for `/v1/traces`, keyed by the convention that their spans follow. */
export function tracesOfEachConvention(canary: Canary, pipeline: string): Readonly<Record<string, object>> {
  const conventions = { openInference, langChain, otelGenAi, langfuse, openLlmetry };
  return Object.fromEntries(
    Object.entries(conventions).map(([name, spansOf]) => [
      name,
      {
        resourceSpans: [
          {
            resource: resource(canary, pipeline),
            scopeSpans: [
              {
                scope: { name: canary('otlp_scope'), version: canary('otlp_scope') },
                spans: spansOf(canary),
              },
            ],
          },
        ],
      },
    ]),
  );
}

/** Returns a request body for `/v1/logs` with a user's rating and with a log record that recalld ignores. */
export function logsWithFeedback(canary: Canary, pipeline: string): object {
  const record = (more: object) => ({
    timeUnixNano: `${BigInt(Date.now()) * 1_000_000n}`,
    traceId: hex(16),
    spanId: hex(8),
    severityText: canary('log_severity'),
    body: { stringValue: canary('log_body') },
    ...more,
  });
  const thumb = {
    'gen_ai.evaluation.name': 'user thumb',
    'gen_ai.evaluation.score.label': 'down',
    'gen_ai.evaluation.explanation': canary('log_explanation'),
    'user.id': canary('log_user'),
    'session.id': canary('log_session'),
    'url.full': canary('log_attribute'),
  };
  const logRecords = [
    record({ eventName: 'gen_ai.evaluation.result', attributes: attributes(thumb) }),
    record({ eventName: canary('log_event'), attributes: attributes(thumb) }),
  ];
  return { resourceLogs: [{ resource: resource(canary, pipeline), scopeLogs: [{ logRecords }] }] };
}
