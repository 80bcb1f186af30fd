-- How well does the vector store cover each sampled live query?
-- One row for each, partitioned like live_queries and gone with it. Who and when stand in live_queries.
create table query_coverage (
  received_on date not null,
  pipeline text not null,
  id text not null,
  status text not null check (status in ('open', 'measured', 'not_measurable')),
  attempts integer not null,
  -- Of an open one: when it may be taken, again after a failure or when the lease of its worker is over.
  due_at timestamptz,
  -- Its text is to be embedded, whatever vector it came with: that one is of another model.
  from_text boolean not null default false,
  -- Mean cosine to the k best distinct chunks.
  score double precision check (score > '-infinity' and score < 'infinity'),
  -- Why there is no score, or what is special about it, in a word.
  reason text,
  -- Its chance of being measured, given that it was sampled.
  thinning double precision not null check (thinning > 0 and thinning <= 1),
  -- [[chunk id, cosine], ...], best first.
  nearest jsonb not null,
  -- float32, little-endian, where the query came without a vector or with one of another model.
  embedding bytea,
  -- Of index and embedder at the time.
  fingerprint text,
  scored_at timestamptz,
  primary key (received_on, pipeline, id)
) partition by range (received_on);

create index query_coverage_due on query_coverage (pipeline, due_at) where status = 'open';
create index live_queries_received on live_queries (pipeline, received_at);

-- What well-known traffic looked like against the store, frozen.
create table density_baselines (
  pipeline text not null,
  version integer not null,
  created_at timestamptz not null,
  reason text not null,
  grade text not null check (grade in ('page', 'provisional')),
  -- Everything but the numbers of `arrays`.
  summary jsonb not null,
  -- float64, little-endian: centroids of the regions, scores of all queries, scores by region.
  arrays bytea not null,
  primary key (pipeline, version)
);

-- The baseline queries that are kept with their vectors: the badly covered ones, and a random sample of all.
create table density_baseline_queries (
  pipeline text not null,
  version integer not null,
  role text not null check (role in ('tail', 'sample')),
  id text not null,
  user_hash text,
  session text not null,
  score double precision not null,
  surprise double precision not null,
  nearest jsonb not null,
  vector bytea not null,
  primary key (pipeline, version, role, id),
  foreign key (pipeline, version) references density_baselines on delete cascade
);

create index density_baseline_queries_user on density_baseline_queries (user_hash) where user_hash is not null;

-- Where the watch over a pipeline stands. Its revision counts the steps, so that of replicas one makes each.
create table density_states (
  pipeline text primary key,
  revision bigint not null,
  state jsonb not null,
  updated_at timestamptz not null
);

-- Sums of every closed window.
create table density_windows (
  pipeline text not null,
  window_end timestamptz not null,
  window_start timestamptz not null,
  totals jsonb not null,
  primary key (pipeline, window_end)
);

-- What became of it: alarms, their ends, and new references.
create table density_events (
  id bigint generated always as identity primary key,
  pipeline text not null,
  kind text not null check (kind in ('page', 'ticket', 'resolve', 'reset', 'rebaseline')),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  sentence text not null,
  details jsonb not null
);

create index density_events_newest on density_events (pipeline, occurred_at desc, id desc);
