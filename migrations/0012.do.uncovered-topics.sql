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
  segments jsonb not null
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
