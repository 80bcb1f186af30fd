-- What do users ask, what were they given, and what did they think of it?
-- Partitioned by the day of receipt (UTC): a retry meets the row that it repeats, and old days are dropped whole.
create table live_queries (
  received_on date not null,
  pipeline text not null,
  id text not null,
  received_at timestamptz not null,
  occurred_at timestamptz not null,
  -- Keyed hash of the session, else of the trace, else of the query: what is sampled as a whole.
  session_hash text not null,
  trace_id text,
  -- Null in hash mode, and when the service sent none.
  text text,
  text_hash text,
  -- float32, little-endian.
  embedding bytea,
  dimensions integer,
  top_k integer,
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  error text,
  -- [[document id, score or null], ...], best first.
  results jsonb not null,
  latency_ms double precision,
  segments jsonb not null,
  user_hash text,
  index_version text,
  embedder_version text,
  retriever_version text,
  probability double precision not null check (probability > 0 and probability <= 1),
  keep_reason text not null,
  -- What closing the minute needs: the draw of the session, its rate, and the halvings that held at its arrival.
  unit_hash double precision not null,
  rate_probability double precision not null,
  level smallint not null,
  -- UTF-16 code units of the texts of all results; null where texts are not given, as the next one.
  context_characters integer,
  -- Share of their runs of five words that an earlier result of the list had too.
  context_repeated double precision,
  -- [{name, isSide, latencyMs, documents, ranks}, ...] in the order in which they worked; ranks are those of the results.
  stages jsonb,
  primary key (received_on, pipeline, id)
) partition by range (received_on);

create index live_queries_time on live_queries (pipeline, occurred_at);
create index live_queries_user on live_queries (user_hash) where user_hash is not null;
create index live_queries_trace on live_queries (trace_id) where trace_id is not null;
create index live_queries_received on live_queries (pipeline, received_at);

comment on column live_queries.session_hash is
  'Keyed hash of the session, else of the trace, else of the query. A session that is learnt later replaces the trace here, while the draw stays that of the trace.';

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
  -- False for what is beyond the cap of one user: kept, but in no rate.
  counted boolean not null,
  -- Feedback on a span that is not known to be a query: the span, as the id of the query that it would be, and its trace.
  -- query_id is then the only query of that trace, else the span.
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

-- How often each replica halved the sampling rate in a minute; the most of them hold for the whole minute.
create table sampling_minutes (
  pipeline text not null,
  minute timestamptz not null,
  replica text not null,
  level smallint not null,
  closed_at timestamptz,
  primary key (pipeline, minute, replica)
);

create index sampling_minutes_time on sampling_minutes (minute);

-- The length of the vectors of a pipeline, learnt from the first one unless the config says it.
create table pipeline_dimensions (
  pipeline text primary key,
  dimensions integer not null
);

-- Vectors of models do not compress, and to try takes time with every row that is kept.
alter table live_queries alter column embedding set storage external;
