-- Golden sets: queries with judged documents by which a pipeline is measured. A version never changes.
create table golden_sets (
  name text not null,
  version integer not null,
  content_hash text not null,
  format text not null,
  imported_at timestamptz not null,
  queries integer not null,
  judgments integer not null,
  -- Generated queries are easier than queries written by people, so a set never mixes the two.
  origin text not null default 'human' check (origin in ('human', 'generated')),
  -- One sentence that states how a version that was not imported from a file was made.
  note text,
  primary key (name, version)
);

create table golden_queries (
  golden_set text not null,
  version integer not null,
  query_id text not null,
  position integer not null,
  text text not null,
  tags jsonb not null,
  -- Texts that the retriever is asked in order in place of the text; empty for a query with one retrieval.
  steps text[] not null default '{}',
  -- Document ids, or id prefixes that end with an asterisk.
  forbidden text[] not null default '{}',
  -- True if no document answers the query, so that an empty result is correct.
  no_answer boolean not null default false,
  primary key (golden_set, version, query_id),
  foreign key (golden_set, version) references golden_sets (name, version)
);

create table golden_judgments (
  golden_set text not null,
  version integer not null,
  query_id text not null,
  document_id text not null,
  grade integer not null check (grade >= 0),
  primary key (golden_set, version, query_id, document_id),
  foreign key (golden_set, version, query_id) references golden_queries (golden_set, version, query_id)
);

-- Origins of queries that no person wrote into a file, for all versions of the set.
create table golden_query_origins (
  golden_set text not null,
  query_id text not null,
  kind text not null check (kind in ('live', 'generated')),
  pipeline text not null,
  -- Hashes of the live query with this text, and of its user. Erasures find golden queries by these hashes.
  live_query_hash text,
  user_hash text,
  asked_at timestamptz,
  details jsonb not null,
  recorded_at timestamptz not null,
  primary key (golden_set, query_id)
);

create index golden_query_origins_live on golden_query_origins (live_query_hash) where live_query_hash is not null;
create index golden_query_origins_user on golden_query_origins (user_hash) where user_hash is not null;

-- Texts of judged documents, stored while they were in the store. Replacements of missing documents are found by these
-- texts.
create table golden_documents (
  pipeline text not null,
  document_id text not null,
  content text not null,
  seen_at timestamptz not null,
  -- The text before the last change, and the time at which the change was seen; null if the text never changed.
  earlier_content text,
  changed_at timestamptz,
  primary key (pipeline, document_id)
);

-- Rotations: a new version of a set runs beside the version whose scores are exported.
create table golden_rotations (
  id bigint generated always as identity primary key,
  pipeline text not null,
  golden_set text not null,
  from_version integer not null,
  to_version integer not null,
  runs_needed integer not null,
  started_at timestamptz not null,
  -- Null while both versions run.
  ended_at timestamptz,
  outcome text check (outcome in ('completed', 'replaced')),
  -- Mean of each metric on the overlap, by version: {"ndcg@10": {"from": 0.8, "to": 0.75}}.
  levels jsonb not null default '{}',
  -- Shifts of check thresholds that follow the level of the set, by check name.
  shifts jsonb not null default '{}',
  check ((ended_at is null) = (outcome is null))
);

create unique index golden_rotations_one_open on golden_rotations (pipeline, golden_set) where ended_at is null;
