-- Who is signed in at the console, and with which API key? The cookie is never stored, only what it hashes to.
create table console_sessions (
  token_hash bytea primary key,
  key_id text not null references api_keys (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_seen_at timestamptz not null
);

create index console_sessions_key on console_sessions (key_id, created_at);
