-- Index truth: documents that a vector store should have, documents that it has, and since when they differ. First: a
-- pipeline's last manifest, with ids, times and hashes.
create table index_documents (
  pipeline text not null,
  id text not null,
  -- Position in a random order, in which documents are checked and sampled.
  place bigint not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Time of the document's current version: when it was updated, or when that version was first read.
  since timestamptz not null,
  primary key (pipeline, id)
);

create index index_documents_place on index_documents (pipeline, place, id) where not deleted;

-- The manifest while it is being read. After a database crash, reading starts over.
create unlogged table index_manifest_lines (
  pipeline text not null,
  id text not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Compared with the last manifest: a new document, another version, or any other change.
  is_new boolean not null,
  is_other boolean not null,
  is_changed boolean not null,
  primary key (pipeline, id)
);

-- A pipeline's current round and its progress.
create table index_rounds (
  pipeline text primary key,
  started_at timestamptz not null,
  -- Null while the round is running.
  ended_at timestamptz,
  phase text not null,
  -- Position within the phase.
  position jsonb,
  -- When the last complete round ended.
  last_end timestamptz,
  -- When the manifest was last read completely, and its number of documents then.
  read_at timestamptz,
  documents bigint,
  -- When the worker's lease ends.
  leased_until timestamptz not null
);

-- Number of documents checked in a round, and number of documents with a finding.
create table index_tallies (
  pipeline text not null,
  round timestamptz not null,
  measure text not null,
  -- Empty for documents without a version.
  segment text not null,
  n bigint not null,
  found bigint not null,
  primary key (pipeline, round, measure, segment)
);

-- Findings: when a document was first and last found to be wrong.
create table index_findings (
  pipeline text not null,
  kind text not null check (kind in ('missing', 'unretrievable', 'orphaned', 'superseded', 'other_model')),
  id text not null,
  segment text,
  found_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (pipeline, kind, id)
);

-- Documents in the store that are not in the last manifest, until the next manifest is read.
create table index_orphan_suspects (
  pipeline text not null,
  id text not null,
  -- How often the document occurred in the listing or sample.
  times integer not null,
  primary key (pipeline, id)
);

-- New document versions that have not been found in the store yet, and recent arrivals.
create table index_arrivals (
  pipeline text not null,
  id text not null,
  updated_at timestamptz not null,
  -- Version as named in the store; null for a new document.
  version text,
  segment text,
  -- Number of new versions that this row represents.
  weight double precision not null,
  -- When the document was last checked, whether or not it was found.
  checked_at timestamptz not null,
  has_arrived boolean not null default false,
  -- No longer tracked: the version was found, or the manifest no longer lists it.
  is_closed boolean not null default false,
  -- Last check that did not find the version; null if the first check found it.
  absent_at timestamptz,
  primary key (pipeline, id, updated_at)
);

create index index_arrivals_open on index_arrivals (pipeline, checked_at) where not is_closed;
