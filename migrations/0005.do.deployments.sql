-- Changes to pipelines, annotated or detected.
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

-- Fingerprints of a pipeline's store, embedder and judge at the last probe.
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

-- Notes by users on golden runs and deployments.
create table annotations (
  id bigint generated always as identity primary key,
  subject text not null check (subject in ('run', 'deployment', 'incident')),
  subject_id text not null,
  text text not null,
  -- Name of the API key; null if keys are not required.
  author text,
  created_at timestamptz not null
);

create index annotations_subject on annotations (subject, subject_id, id);

-- Items in the configs of running schedulers, when they were removed, and each pipeline's retention.
create table configured_items (
  pipeline text not null,
  kind text not null check (kind in ('pipeline', 'golden_set', 'check')),
  -- Name of the golden set or check; for a pipeline, its own name.
  name text not null,
  -- Retention of live queries; only for pipelines.
  retention_days integer,
  -- When a scheduler last had the item in its config.
  seen_at timestamptz not null,
  -- When the item was removed from the last config; null while it is configured.
  ended_at timestamptz,
  primary key (pipeline, kind, name)
);
