-- What did the retriever answer to a golden set, when, and how good was it?
create table golden_runs (
  id text primary key,
  pipeline text not null,
  golden_set text not null,
  golden_set_version integer not null,
  trigger text not null check (trigger in ('schedule', 'manual')),
  scheduled_for timestamptz,
  settings jsonb not null,
  status text not null default 'running' check (status in ('running', 'completed', 'void', 'failed', 'cancelled')),
  reason text,
  started_at timestamptz not null,
  deadline_at timestamptz not null,
  finished_at timestamptz,
  segments_overflow integer not null default 0,
  lease_holder text,
  lease_until timestamptz,
  foreign key (golden_set, golden_set_version) references golden_sets (name, version),
  check ((status = 'running') = (finished_at is null))
);

-- The last word on "one run per tick": schedulers on any number of machines collapse here.
create unique index golden_runs_one_per_tick on golden_runs (pipeline, golden_set, scheduled_for);
create index golden_runs_newest on golden_runs (pipeline, golden_set, started_at desc);
create index golden_runs_running on golden_runs (started_at) where status = 'running';

-- One row per query of a run: the primary key is what makes a retried or resumed run count nothing twice.
create table golden_run_answers (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  document_ids text[] not null,
  scores double precision[] not null,
  latency_ms double precision,
  attempts integer not null,
  error_code text,
  error_message text,
  primary key (run_id, query_id)
);

create table golden_run_scores (
  run_id text not null references golden_runs (id) on delete cascade,
  segment text not null,
  measure text not null,
  k integer not null,
  mean double precision not null,
  n integer not null,
  ci_low double precision not null,
  ci_high double precision not null,
  ci_method text not null,
  primary key (run_id, segment, measure, k)
);

create table golden_run_checks (
  run_id text not null references golden_runs (id) on delete cascade,
  name text not null,
  severity text not null check (severity in ('critical', 'warning')),
  verdict text not null check (verdict in ('ok', 'warning', 'critical', 'no_data')),
  value double precision,
  threshold double precision not null,
  explanation text not null,
  -- What a regression check would find with a chance of 0.8.
  smallest_detectable_drop double precision,
  primary key (run_id, name, severity)
);
