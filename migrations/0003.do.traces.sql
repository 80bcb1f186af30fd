-- Fragments of OpenTelemetry traces that complete live queries. They may arrive in another export than the query,
-- before or after it. A ring of three partitions by time of receipt: one is written, one is only read, one is empty.
-- Old partitions are truncated.
create table trace_fragments (
  slot smallint not null,
  trace_id text not null,
  -- Span, and index of the fragment within it. A retry conflicts with its first row.
  span_id text not null,
  part integer not null,
  -- End of the span; unsigned 64 bits.
  ended_at_unix_nano numeric(20) not null,
  -- Null if there is no pipeline; the fragment then has no text.
  pipeline text,
  kind text not null check (kind in ('embedding', 'rerank', 'person', 'episode')),
  -- Id of the live query that contains the span, if its parent is a retriever.
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
  -- Session hash for queries of this trace that have no session in live_queries.
  trace_hash text,
  user_hash text,
  -- Latency of a reranker, used as a stage duration.
  latency_ms double precision,
  -- Kind and start of a span whose retrievals are one episode.
  scope text check (scope in ('agent', 'workflow', 'chain')),
  started_at_unix_nano numeric(20),
  primary key (slot, trace_id, span_id, part)
) partition by list (slot);

create table trace_fragments_0 partition of trace_fragments for values in (0);
create table trace_fragments_1 partition of trace_fragments for values in (1);
create table trace_fragments_2 partition of trace_fragments for values in (2);

create index trace_fragments_trace on trace_fragments (trace_id);
create index trace_fragments_user on trace_fragments (user_hash) where user_hash is not null;

-- Retriever spans from which no live query could be extracted, by kind, for `recalld doctor`. Contains attribute names,
-- never values.
create table unreadable_retrievers (
  pipeline text not null,
  instrumentation text not null,
  reason text not null,
  -- Attributes of the latest such span.
  attributes text[] not null,
  spans bigint not null,
  last_seen_at timestamptz not null,
  primary key (pipeline, instrumentation, reason)
);

-- Vectors do not compress, and trying would slow down every insert.
alter table trace_fragments alter column embedding set storage external;
