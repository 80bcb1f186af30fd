-- What changed in a pipeline, when, and who says so?
create table deployments (
  id bigint generated always as identity primary key,
  pipeline text not null,
  kind text not null check (kind in ('index', 'embedder', 'retriever', 'golden')),
  version text not null,
  note text,
  source text not null check (source in ('annotated', 'detected')),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  changes jsonb not null
);

create index deployments_newest on deployments (pipeline, occurred_at desc, id desc);

-- What the store and the embedder of a pipeline were made of when they were last looked at.
create table fingerprints (
  pipeline text not null,
  part text not null check (part in ('index', 'embedder')),
  fingerprint text not null,
  traits jsonb not null,
  since timestamptz not null,
  seen_at timestamptz not null,
  primary key (pipeline, part)
);

-- Vectors of fixed texts as the embedder once gave them: what it gives now must be the same.
create table embedding_canaries (
  pipeline text not null,
  embedder text not null,
  position integer not null,
  vector bytea not null,
  stored_at timestamptz not null,
  primary key (pipeline, embedder, position)
);
