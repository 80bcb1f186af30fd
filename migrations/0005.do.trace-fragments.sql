-- What OpenTelemetry spans tell about live queries of their trace, and feedback on spans that are no query. Either may
-- come in another export than the query, before or after it.
-- A ring of three partitions by the time of receipt: one is written, one is kept, one is empty. Old ones are truncated.
create table trace_fragments (
  slot smallint not null,
  trace_id text not null,
  -- Of the span, and of the fragment within it: a retry meets what it repeats.
  span_id text not null,
  part integer not null,
  -- When the span ended; 64 bits without a sign.
  ended_at_unix_nano numeric(20) not null,
  -- Null when the span tells no pipeline; then the fragment has no text.
  pipeline text,
  kind text not null check (kind in ('embedding', 'rerank', 'person')),
  -- Id of the live query that the span lies within, or would.
  within text,
  text text,
  text_hash text,
  -- float32, little-endian.
  embedding bytea,
  embedder_version text,
  top_k integer,
  -- [[document id, score or null], ...], best first.
  results jsonb,
  session_hash text,
  -- What stands in live_queries for the session of a query of this trace that has none.
  trace_hash text,
  user_hash text,
  primary key (slot, trace_id, span_id, part)
) partition by list (slot);

create table trace_fragments_0 partition of trace_fragments for values in (0);
create table trace_fragments_1 partition of trace_fragments for values in (1);
create table trace_fragments_2 partition of trace_fragments for values in (2);

create index trace_fragments_trace on trace_fragments (trace_id);
create index trace_fragments_user on trace_fragments (user_hash) where user_hash is not null;

-- Feedback on a span that is not known to be a query: the span, as the id of the query that it would be, and its trace.
-- query_id is then the only query of that trace, else the span.
alter table feedback add column trace_id text, add column judged_id text;

create index feedback_trace on feedback (trace_id) where trace_id is not null;
create index feedback_judged on feedback (pipeline, judged_id) where judged_id is not null;

comment on column live_queries.session_hash is
  'Keyed hash of the session, else of the trace, else of the query. A session that is learnt later replaces the trace here, while the draw stays that of the trace.';

-- Retriever spans that gave no live query, by kind, for people who set up tracing. Names of attributes, never a value.
create table unreadable_retrievers (
  pipeline text not null,
  instrumentation text not null,
  reason text not null,
  -- Of the latest such span.
  attributes text[] not null,
  spans bigint not null,
  last_seen_at timestamptz not null,
  primary key (pipeline, instrumentation, reason)
);
