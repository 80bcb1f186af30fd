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

-- The score of a query is made of its nearest chunk and its vector when it is read. The column stays for one version back.
comment on column query_coverage.score is 'Not read or written since the nearest chunk counts, the first of "nearest".';

-- How many of the live queries that wait for their coverage are admitted, while more come than can be searched?
create table coverage_admissions (
  pipeline text primary key,
  -- Queries that were received before it are decided on.
  decided_until timestamptz not null,
  -- The chance of being admitted is 2^-level.
  level smallint not null check (level >= 0),
  waiting double precision not null,
  is_overdue boolean not null,
  calm_since timestamptz,
  -- All that were ever left out.
  left_out bigint not null
);

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
  -- When a retained baseline query was last searched again, and what it scored then.
  replayed_at timestamptz,
  replayed_score double precision,
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

-- What did each vector store hold, by a uniform sample of it?
create table store_snapshots (
  pipeline text not null,
  taken_at timestamptz not null,
  -- Sampled vectors with a direction.
  vectors integer not null,
  dimensions integer not null,
  -- float64, little-endian: mean of the directions.
  centroid bytea not null,
  mean_length double precision not null,
  -- float32, little-endian: one direction per cluster.
  clusters bytea not null,
  chunk_shares double precision[] not null,
  -- Null while no live query with a vector was there to hold against it.
  query_shares double precision[],
  -- The most typical chunk of each cluster; null for an empty one.
  medoids text[] not null,
  primary key (pipeline, taken_at)
);

-- What do people ask that the store does not cover, since when, and who looks after it?
create table uncovered_topics (
  id text primary key,
  pipeline text not null,
  state text not null check (state in ('open', 'acknowledged', 'closed')),
  -- Distinctive words; empty where no texts are kept.
  label text[] not null,
  -- float64, little-endian: direction of its queries.
  centroid bytea not null,
  cause text not null check (cause in ('new_demand', 'lost_content')),
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  -- When somebody acknowledged or closed it, or it closed by itself, and why.
  changed_at timestamptz,
  note text,
  -- Of the latest window in which it was seen.
  sessions integer not null,
  traffic_share double precision not null,
  share_low double precision not null,
  share_high double precision not null,
  excess_points double precision not null,
  density double precision not null,
  adjusted_p double precision not null,
  dominant_region integer not null,
  -- Ids of live queries, the most typical first. Their texts stay where they are erased and expire.
  examples text[] not null,
  -- [[chunk id, cosine], ...] that came nearest to them.
  nearest jsonb not null,
  -- [[segment, share of the topic], ...], the largest first.
  segments jsonb not null,
  -- Ids of chunks that baseline queries like it found and that are gone from the store.
  lost_chunks text[] not null default '{}',
  -- The topic that it was found to be a part of, under whose id it is followed from then on.
  part_of text references uncovered_topics (id) on delete set null,
  -- Of the queries of an uncovered topic that were judged: how many, and which share of their documents held an answer.
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

-- Up to when were the live queries of each pipeline last searched for uncovered topics, and was there enough to search?
create table uncovered_topic_searches (
  pipeline text primary key,
  -- Of the live queries: inclusive, and exclusive.
  window_start timestamptz not null,
  window_end timestamptz not null,
  baseline_version integer not null,
  sessions integer not null,
  -- What there was too little of; null when the search could be made.
  lacking text check (lacking in ('window_tail', 'baseline_tail', 'baseline_sample'))
);

-- Vectors of models do not compress, and to try takes time with every row that is kept.
alter table query_coverage alter column embedding set storage external;
alter table density_baseline_queries alter column vector set storage external;
