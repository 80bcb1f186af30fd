-- Up to when were the live queries of each pipeline last searched for uncovered topics, and was there enough to search?
create table uncovered_topic_looks (
  pipeline text primary key,
  -- Of the live queries: inclusive, and exclusive.
  window_start timestamptz not null,
  window_end timestamptz not null,
  baseline_version integer not null,
  sessions integer not null,
  -- What there was too little of; null when the search could be made.
  lacking text check (lacking in ('window_tail', 'baseline_tail', 'baseline_sample'))
);

-- Ids of chunks that baseline queries like it found and that are gone from the store.
alter table uncovered_topics add column lost_chunks text[] not null default '{}';

-- The topic that it was found to be a part of, under whose id it is followed from then on.
alter table uncovered_topics add column part_of text references uncovered_topics (id) on delete set null;
