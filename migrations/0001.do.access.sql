-- Identifies this installation. The row moves with the database wherever it is restored, and is also stored in a job
-- queue outside the database.
create table installation (
  only_one boolean primary key default true check (only_one),
  id uuid not null default gen_random_uuid()
);

insert into installation default values;

-- Key for hashing user and session ids, unless the config sets it.
create table hash_keys (
  name text primary key,
  key text not null
);

-- Callers of the HTTP API; the key text is never stored.
create table api_keys (
  id text primary key,
  name text not null,
  key_hash bytea not null unique,
  scopes text[] not null,
  -- The only pipelines that the key may see and change; null means all.
  pipelines text[],
  created_at timestamptz not null,
  revoked_at timestamptz
);

-- Console sessions: of an API key, or of a user whom a provider signed in. The cookie is never stored, only its hash.
create table console_sessions (
  token_hash bytea primary key,
  key_id text references api_keys (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- Subject of the user at the provider.
  user_id text,
  user_name text,
  -- Groups of the user that granted a role at sign-in.
  user_groups text[],
  -- ID token, needed for sign-out at the provider; encrypted with a key that is derived from the cookie.
  sealed_id_token bytea,
  check (num_nonnulls(key_id, user_id) = 1)
);

create index console_sessions_key on console_sessions (key_id, created_at);
create index console_sessions_user on console_sessions (user_id, created_at);

-- Erased users and queries for which older data may still arrive. Rows are deleted once data from before the erasure is
-- no longer accepted; `erasures` then records only that an erasure occurred.
create table erased_subjects (
  kind text not null check (kind in ('user', 'query', 'trace', 'episode')),
  -- The keyed hash of a user, else the id.
  subject text not null,
  -- Pipeline of a query or an episode; empty if a query was erased in all pipelines.
  pipeline text not null default '',
  -- The keyed hash of a query id, which identifies a review of the query's text that is imported later.
  subject_hash text,
  erased_at timestamptz not null,
  primary key (kind, subject, pipeline)
);

create index erased_subjects_hash on erased_subjects (subject_hash) where subject_hash is not null;

-- Changes made by people: who, when, and the values before and after. Contains no id of a user or of a live query.
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
