-- Sampled live queries and feedback. Partitioned by the day of receipt (UTC), so that retries conflict with their first
-- row and old days are dropped as a whole.
create table live_queries (
  received_on date not null,
  pipeline text not null,
  id text not null,
  received_at timestamptz not null,
  occurred_at timestamptz not null,
  -- Keyed hash of the session, else of the episode, else of the trace, else of the query: the sampling unit.
  session_hash text not null,
  trace_id text,
  -- Turn of an agent: its id, the position that the service reported, and what the user asked. The text is null in hash
  -- mode. A turn that is known from spans has the trace id, or `<trace id>-<span id>`.
  episode text,
  episode_step integer,
  original_text text,
  -- Null in hash mode, and if the service sent none.
  text text,
  text_hash text,
  -- float32, little-endian.
  embedding bytea,
  dimensions integer,
  top_k integer,
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  error text,
  -- [[document id, score or null, fields if any], ...], best first.
  results jsonb not null,
  latency_ms double precision,
  segments jsonb not null,
  user_hash text,
  index_version text,
  embedder_version text,
  retriever_version text,
  probability double precision not null check (probability > 0 and probability <= 1),
  keep_reason text not null,
  -- Data for closing the minute: the session's draw, its rate, and the level at its arrival.
  unit_hash double precision not null,
  rate_probability double precision not null,
  level smallint not null,
  -- UTF-16 code units in the texts of all results; null if there are no texts, like the next column.
  context_characters integer,
  -- Share of five-word sequences that an earlier result already contains.
  context_repeated double precision,
  -- [{name, isSide, latencyMs, documents, ranks}, ...] in order; ranks are those of the final results.
  stages jsonb,
  primary key (received_on, pipeline, id)
) partition by range (received_on);

create index live_queries_time on live_queries (pipeline, occurred_at);
create index live_queries_user on live_queries (user_hash) where user_hash is not null;
create index live_queries_trace on live_queries (trace_id) where trace_id is not null;
create index live_queries_episode on live_queries (pipeline, episode) where episode is not null;
create index live_queries_received on live_queries (pipeline, received_at);

comment on column live_queries.session_hash is
  'Keyed hash of the session, else of the episode, else of the trace, else of the query. A session that is learnt later replaces the trace here, while the draw stays that of the trace.';

create table feedback (
  received_on date not null,
  pipeline text not null,
  id text not null,
  received_at timestamptz not null,
  occurred_at timestamptz not null,
  query_id text not null,
  kind text not null,
  sentiment text not null check (sentiment in ('positive', 'negative', 'neutral')),
  value double precision,
  document_id text,
  rank integer,
  user_hash text,
  comment text,
  -- False for feedback beyond its user's cap, which is stored but not counted in rates.
  counted boolean not null,
  -- Feedback on a span that may not be a query: the span as a query id, and its trace. query_id is then the only query
  -- in that trace, else the span.
  trace_id text,
  judged_id text,
  primary key (received_on, pipeline, id)
) partition by range (received_on);

create index feedback_query on feedback (pipeline, query_id);
create index feedback_time on feedback (pipeline, occurred_at);
create index feedback_user on feedback (user_hash) where user_hash is not null;
create index feedback_trace on feedback (trace_id) where trace_id is not null;
create index feedback_judged on feedback (pipeline, judged_id) where judged_id is not null;

-- All live queries, sampled or not, by the minute of receipt; after 32 days by the hour.
create table live_query_counts (
  pipeline text not null,
  minute timestamptz not null,
  outcome text not null,
  queries bigint not null,
  primary key (pipeline, minute, outcome)
);

-- Answers with documents that an isolation rule does not allow, sampled or not. No texts.
create table isolation_violations (
  -- In the order of storing, for pages of a list.
  number bigint generated always as identity unique,
  received_on date not null,
  pipeline text not null,
  rule text not null,
  query_id text not null,
  received_at timestamptz not null,
  occurred_at timestamptz not null,
  -- Value of the segment of the query, such as its tenant.
  segment text not null,
  -- [[document id, rank], ...]: the best-ranked ones; document_count counts all.
  documents jsonb not null,
  document_count integer not null check (document_count > 0),
  trace_id text,
  user_hash text,
  primary key (received_on, pipeline, query_id, rule)
);

create index isolation_violations_received on isolation_violations (received_at);
create index isolation_violations_query on isolation_violations (query_id);
create index isolation_violations_user on isolation_violations (user_hash) where user_hash is not null;
create index isolation_violations_trace on isolation_violations (trace_id) where trace_id is not null;

-- Answers by hour that an isolation rule allowed or could not decide about. A retry of an unsampled query counts again.
create table isolation_counts (
  pipeline text not null,
  rule text not null,
  hour timestamptz not null,
  outcome text not null check (outcome in ('allowed', 'segment_missing', 'document_unidentified', 'field_missing')),
  queries bigint not null,
  primary key (pipeline, rule, hour, outcome)
);

-- Halvings of the sampling rate per replica and minute; the maximum applies to the whole minute.
create table sampling_minutes (
  pipeline text not null,
  minute timestamptz not null,
  replica text not null,
  level smallint not null,
  closed_at timestamptz,
  primary key (pipeline, minute, replica)
);

create index sampling_minutes_time on sampling_minutes (minute);

-- Dimensions of a pipeline's vectors, from the config or the first vector.
create table pipeline_dimensions (
  pipeline text primary key,
  dimensions integer not null
);

-- Vectors do not compress, and trying would slow down every insert.
alter table live_queries alter column embedding set storage external;
