-- What should a vector store hold, what was found in it, and since when is it otherwise?
-- The manifest of a pipeline as it was last read: ids, times and hashes.
create table index_documents (
  pipeline text not null,
  id text not null,
  -- A place in a random order, in which documents are walked along and drawn.
  place bigint not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Since when it is as it is: when it was updated, or when that was first read.
  since timestamptz not null,
  primary key (pipeline, id)
);

create index index_documents_place on index_documents (pipeline, place, id) where not deleted;

-- The manifest that is being read; after a crash of the database it is read from its start.
create unlogged table index_manifest_lines (
  pipeline text not null,
  id text not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Against the manifest as it was last read: no document that should be there, another version, anything else.
  is_new boolean not null,
  is_other boolean not null,
  is_changed boolean not null,
  primary key (pipeline, id)
);

-- A round of a pipeline: what is looked at, and how far.
create table index_rounds (
  pipeline text primary key,
  started_at timestamptz not null,
  -- Null while the round goes on.
  ended_at timestamptz,
  phase text not null,
  -- Where the phase goes on.
  position jsonb,
  -- When the last round ended.
  last_end timestamptz,
  -- Of the manifest: when reading what is known of it began, and how many documents it names.
  read_at timestamptz,
  documents bigint,
  -- The worker that has it is given up then.
  held_until timestamptz not null
);

-- Documents that were looked at in a round, and of how many something is wrong.
create table index_tallies (
  pipeline text not null,
  round timestamptz not null,
  measure text not null,
  -- Empty where the manifest names none.
  segment text not null,
  n bigint not null,
  found bigint not null,
  primary key (pipeline, round, measure, segment)
);

-- Documents with which something is wrong, since when, and when that was last seen.
create table index_findings (
  pipeline text not null,
  kind text not null check (kind in ('missing', 'unretrievable', 'orphaned', 'superseded', 'other_model')),
  id text not null,
  segment text,
  found_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (pipeline, kind, id)
);

-- Documents in the store that the manifest of the round before does not know, until the next one is read.
create table index_suspects (
  pipeline text not null,
  id text not null,
  -- How often it was met.
  times integer not null,
  primary key (pipeline, id)
);

-- New versions of documents on their way into the store.
create table index_arrivals (
  pipeline text not null,
  id text not null,
  updated_at timestamptz not null,
  -- What the version is called in the store; null for a document that was not there before.
  version text,
  segment text,
  -- How many new versions it stands for.
  weight double precision not null,
  -- When it was last looked for in vain, or when it was found.
  looked_at timestamptz not null,
  has_arrived boolean not null default false,
  -- Nobody looks for it any more: it was found, or a newer version came.
  is_over boolean not null default false,
  -- Between which two looks did a change of a document arrive in the store?
  -- When it was last looked for in vain; null where the first look found it.
  absent_at timestamptz,
  primary key (pipeline, id, updated_at)
);

create index index_arrivals_open on index_arrivals (pipeline, looked_at) where not is_over;
