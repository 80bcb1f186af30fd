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
  -- What a reranker took, which is the time of a stage.
  latency_ms double precision,
  primary key (slot, trace_id, span_id, part)
) partition by list (slot);

create table trace_fragments_0 partition of trace_fragments for values in (0);
create table trace_fragments_1 partition of trace_fragments for values in (1);
create table trace_fragments_2 partition of trace_fragments for values in (2);

create index trace_fragments_trace on trace_fragments (trace_id);
create index trace_fragments_user on trace_fragments (user_hash) where user_hash is not null;

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

-- Vectors of models do not compress, and to try takes time with every row that is kept.
alter table trace_fragments alter column embedding set storage external;
