-- Where does a golden query come from, and what did the judged documents say?
alter table golden_sets
  -- Questions of a model are easier than those of people: the two are never mixed in one set.
  add column origin text not null default 'human' check (origin in ('human', 'generated')),
  -- How a version came about that was not imported from a file, one sentence.
  add column note text;

-- Queries that no person wrote into a file. It holds for every version of the set.
create table golden_query_origins (
  golden_set text not null,
  query_id text not null,
  kind text not null check (kind in ('live', 'generated')),
  pipeline text not null,
  -- Of the live query whose text it is: as in erasures, and its user. An erasure finds the golden query by them.
  live_query_hash text,
  user_hash text,
  asked_at timestamptz,
  details jsonb not null,
  recorded_at timestamptz not null,
  primary key (golden_set, query_id)
);

create index golden_query_origins_live on golden_query_origins (live_query_hash) where live_query_hash is not null;
create index golden_query_origins_user on golden_query_origins (user_hash) where user_hash is not null;

-- Texts of judged documents, as they were while they were in the store: what a lost label is found again by.
create table golden_documents (
  pipeline text not null,
  document_id text not null,
  content text not null,
  seen_at timestamptz not null,
  primary key (pipeline, document_id)
);

alter table erasures add column golden_queries integer not null default 0;
