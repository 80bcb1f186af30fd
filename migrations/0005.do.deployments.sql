-- What changed in a pipeline, when, and who says so?
create table deployments (
  id bigint generated always as identity primary key,
  pipeline text not null,
  kind text not null check (kind in ('index', 'embedder', 'retriever', 'golden', 'judge')),
  version text not null,
  note text,
  source text not null check (source in ('annotated', 'detected')),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  changes jsonb not null
);

create index deployments_newest on deployments (pipeline, occurred_at desc, id desc);

-- Fingerprints of the store, the embedder and the judge of a pipeline at the last probe.
create table fingerprints (
  pipeline text not null,
  component text not null check (component in ('index', 'embedder', 'judge')),
  fingerprint text not null,
  traits jsonb not null,
  since timestamptz not null,
  seen_at timestamptz not null,
  primary key (pipeline, component)
);

-- First vectors that the embedder returned for fixed texts. Its current vectors must be the same.
create table embedding_canaries (
  pipeline text not null,
  embedder text not null,
  position integer not null,
  vector bytea not null,
  stored_at timestamptz not null,
  primary key (pipeline, embedder, position)
);

-- Notes of people on golden runs and deployments.
create table annotations (
  id bigint generated always as identity primary key,
  subject text not null check (subject in ('run', 'deployment')),
  subject_id text not null,
  text text not null,
  -- Name of the API key; null where none is needed.
  author text,
  created_at timestamptz not null
);

create index annotations_subject on annotations (subject, subject_id, id);

-- What does the config in force have, since when is a part no longer in it, and how long are the rows of a pipeline kept?
create table configured_items (
  pipeline text not null,
  kind text not null check (kind in ('pipeline', 'golden_set', 'check')),
  -- Of the golden set or the check; that of the pipeline itself for a pipeline.
  name text not null,
  -- Days that its live queries are kept; of pipelines alone.
  retention_days integer,
  -- When a scheduler last had it in its config.
  seen_at timestamptz not null,
  -- Since when no scheduler has it; null while one does.
  ended_at timestamptz,
  primary key (pipeline, kind, name)
);
