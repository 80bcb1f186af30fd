-- How well the vector store covers each sampled live query. One row per query, partitioned and deleted like
-- live_queries, which has the user, session and time.
create table query_coverage (
  received_on date not null,
  pipeline text not null,
  id text not null,
  status text not null check (status in ('open', 'measured', 'not_measurable')),
  attempts integer not null,
  -- While the row is open: when a worker may claim it, also after a failure or an expired lease.
  due_at timestamptz,
  -- True if the vector is that of a text that recalld embedded: of the original text, of a query without a vector, or
  -- because the vector comes from another model.
  from_text boolean not null default false,
  -- Mean cosine to the k best distinct chunks.
  score double precision check (score > '-infinity' and score < 'infinity'),
  -- Why there is no score, or what is special about the score.
  reason text,
  -- Probability of being measured, given that it was sampled.
  thinning double precision not null check (thinning > 0 and thinning <= 1),
  -- [[chunk id, cosine], ...], best first.
  nearest jsonb not null,
  -- float32, little-endian; set if recalld embedded a text.
  embedding bytea,
  -- Fingerprints of the index and the embedding model at that time.
  fingerprint text,
  scored_at timestamptz,
  primary key (received_on, pipeline, id)
) partition by range (received_on);

create index query_coverage_due on query_coverage (pipeline, due_at) where status = 'open';

-- The score is computed on read from the nearest chunk and the vector. The column remains so that the previous version
-- can run.
comment on column query_coverage.score is 'No longer read or written: the score is computed from the first of "nearest".';

-- Share of the waiting live queries that is measured if more arrive than can be searched.
create table coverage_admissions (
  pipeline text primary key,
  -- Queries received before this time are decided.
  decided_until timestamptz not null,
  -- The probability of being admitted is 2^-level.
  level smallint not null check (level >= 0),
  waiting double precision not null,
  is_overdue boolean not null,
  calm_since timestamptz,
  -- Total number of excluded queries.
  left_out bigint not null
);

-- Query coverage in the baseline period, which does not change.
create table density_baselines (
  pipeline text not null,
  version integer not null,
  created_at timestamptz not null,
  reason text not null,
  grade text not null check (grade in ('page', 'provisional')),
  -- Everything except `arrays`.
  summary jsonb not null,
  -- float64, little-endian: centroids of the regions, scores of all queries, scores by region.
  arrays bytea not null,
  primary key (pipeline, version)
);

-- Baseline queries that are retained with their vectors: the poorly covered queries, a random sample of all, and the
-- queries with which live queries are compared.
create table density_baseline_queries (
  pipeline text not null,
  version integer not null,
  role text not null check (role in ('tail', 'sample', 'reference')),
  id text not null,
  user_hash text,
  session text not null,
  score double precision not null,
  surprise double precision not null,
  nearest jsonb not null,
  vector bytea not null,
  -- Number of sessions in the even and in the odd blocks of the baseline; null for other roles than 'reference'.
  counts jsonb,
  -- When the query was last replayed, and its score then.
  replayed_at timestamptz,
  replayed_score double precision,
  primary key (pipeline, version, role, id),
  foreign key (pipeline, version) references density_baselines on delete cascade
);

create index density_baseline_queries_user on density_baseline_queries (user_hash) where user_hash is not null;

-- State of density monitoring per pipeline. The revision counts steps, so that only one replica makes each.
create table density_states (
  pipeline text primary key,
  revision bigint not null,
  state jsonb not null,
  updated_at timestamptz not null
);

-- Sums over every closed window.
create table density_windows (
  pipeline text not null,
  window_end timestamptz not null,
  window_start timestamptz not null,
  totals jsonb not null,
  primary key (pipeline, window_end)
);

-- Density alerts, their resolution, and new baselines.
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

-- Newest snapshot of each vector store, with which the next snapshot is compared.
create table store_snapshots (
  pipeline text primary key,
  taken_at timestamptz not null,
  -- float64, little-endian: mean of the directions.
  centroid bytea not null,
  mean_length double precision not null
);

-- Topics of live queries that the store does not cover.
create table uncovered_topics (
  id text primary key,
  pipeline text not null,
  state text not null check (state in ('open', 'acknowledged', 'closed')),
  -- Distinctive words; empty if texts are not stored.
  label text[] not null,
  -- float64, little-endian: mean direction of its queries.
  centroid bytea not null,
  cause text not null check (cause in ('new_demand', 'lost_content')),
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  -- When the topic was acknowledged or closed, by a user or automatically, and why.
  changed_at timestamptz,
  note text,
  -- From the latest window in which the topic was found.
  sessions integer not null,
  traffic_share double precision not null,
  share_low double precision not null,
  share_high double precision not null,
  excess_points double precision not null,
  density double precision not null,
  adjusted_p double precision not null,
  dominant_region integer not null,
  -- Live query ids, most typical first. Their texts are only in live_queries, where they are erased and expire.
  examples text[] not null,
  -- [[chunk id, cosine], ...] of the chunks nearest to the topic.
  nearest jsonb not null,
  -- [[segment, share of the topic], ...], largest first.
  segments jsonb not null,
  -- Ids of chunks that similar baseline queries found and that are missing from the store.
  lost_chunks text[] not null default '{}',
  -- The topic with which this topic was merged; null if it was not.
  part_of text references uncovered_topics (id) on delete set null,
  -- Number of judged queries in the topic, and the share of their documents that are relevant.
  judged_queries integer not null default 0,
  relevant_share double precision
);

create index uncovered_topics_pipeline on uncovered_topics (pipeline, last_seen desc);

create table uncovered_topic_windows (
  topic_id text not null references uncovered_topics (id) on delete cascade,
  window_end timestamptz not null,
  sessions integer not null,
  traffic_share double precision not null,
  excess_points double precision not null,
  density double precision not null,
  primary key (topic_id, window_end)
);

-- Latest search for uncovered topics per pipeline.
create table uncovered_topic_searches (
  pipeline text primary key,
  -- Window of live queries; the end is exclusive.
  window_start timestamptz not null,
  window_end timestamptz not null,
  baseline_version integer not null,
  sessions integer not null,
  -- Data that was too sparse; null if the search ran.
  lacking text check (lacking in ('window_tail', 'baseline_tail', 'baseline_sample'))
);

-- Embedding vectors do not compress; trying costs time for every row.
alter table query_coverage alter column embedding set storage external;
alter table density_baseline_queries alter column vector set storage external;
