-- What should a vector store hold, what does it hold, and since when do they differ?
-- Last manifest of a pipeline: ids, times and hashes.
create table index_documents (
  pipeline text not null,
  id text not null,
  -- Position in a random order, along which documents are checked and drawn.
  place bigint not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Time of its current version: when it was updated, or when that was first read.
  since timestamptz not null,
  primary key (pipeline, id)
);

create index index_documents_place on index_documents (pipeline, place, id) where not deleted;

-- The manifest while it is read; after a database crash, reading starts over.
create unlogged table index_manifest_lines (
  pipeline text not null,
  id text not null,
  updated_at timestamptz,
  hash text,
  deleted boolean not null,
  chunks integer,
  segment text,
  -- Compared with the last manifest: a new document, another version, any other change.
  is_new boolean not null,
  is_other boolean not null,
  is_changed boolean not null,
  primary key (pipeline, id)
);

-- The current round of a pipeline and its progress.
create table index_rounds (
  pipeline text primary key,
  started_at timestamptz not null,
  -- Null while the round runs.
  ended_at timestamptz,
  phase text not null,
  -- Position within the phase.
  position jsonb,
  -- End of the last complete round.
  last_end timestamptz,
  -- Start of the last complete reading of the manifest, and its number of documents.
  read_at timestamptz,
  documents bigint,
  -- End of the worker's lease.
  leased_until timestamptz not null
);

-- Number of documents checked in a round, and of those with a finding.
create table index_tallies (
  pipeline text not null,
  round timestamptz not null,
  measure text not null,
  -- Empty for documents without one.
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

-- Documents of the store that are not in the last manifest, until the next one is read.
create table index_orphan_suspects (
  pipeline text not null,
  id text not null,
  -- How often it occurred in the listing or sample.
  times integer not null,
  primary key (pipeline, id)
);

-- New document versions that have not been seen in the store yet, and recent arrivals.
create table index_arrivals (
  pipeline text not null,
  id text not null,
  updated_at timestamptz not null,
  -- Version as the store names it; null for a new document.
  version text,
  segment text,
  -- Number of new versions that it represents.
  weight double precision not null,
  -- Time of the last check, whether or not it was found.
  checked_at timestamptz not null,
  has_arrived boolean not null default false,
  -- No longer tracked: it was found, or a newer version exists.
  is_closed boolean not null default false,
  -- Last check that did not find it; null if the first check found it.
  absent_at timestamptz,
  primary key (pipeline, id, updated_at)
);

create index index_arrivals_open on index_arrivals (pipeline, checked_at) where not is_closed;
