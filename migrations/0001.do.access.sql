-- Which installation is this? Goes with the database wherever it is restored, and stands on a job queue that lies outside.
create table installation (
  only_one boolean primary key default true check (only_one),
  id uuid not null default gen_random_uuid()
);

insert into installation default values;

-- The key of the hashes that stand for users and sessions, unless the config holds it.
create table hash_keys (
  name text primary key,
  key text not null
);

-- Who may call the HTTP API; the key itself is never stored.
create table api_keys (
  id text primary key,
  name text not null,
  key_hash bytea not null unique,
  scopes text[] not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);

-- Who is signed in at the console, and with which API key? The cookie is never stored, only what it hashes to.
create table console_sessions (
  token_hash bytea primary key,
  key_id text not null references api_keys (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_seen_at timestamptz not null
);

create index console_sessions_key on console_sessions (key_id, created_at);

-- Of whom, and about what, may something still come that happened before it was erased?
-- Forgotten when nothing from before the erasure is accepted any more; `erasures` then tells only that there was one.
create table erased_subjects (
  kind text not null check (kind in ('user', 'query', 'trace')),
  -- The keyed hash of a user, else the id.
  subject text not null,
  -- Of a query; empty where it was erased in all pipelines.
  pipeline text not null default '',
  -- The keyed hash of the id of a query: what a review of its text that is imported later is known by.
  subject_hash text,
  erased_at timestamptz not null,
  primary key (kind, subject, pipeline)
);

create index erased_subjects_hash on erased_subjects (subject_hash) where subject_hash is not null;

-- What people did: who, when, and what was before and after. Holds no id of a user or of a live query.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  by text not null,
  act text not null,
  pipeline text,
  subject text not null,
  before jsonb,
  after jsonb
);

create index audit_log_at on audit_log (at);
