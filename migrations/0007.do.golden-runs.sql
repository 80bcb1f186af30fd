-- Golden runs: when a golden set was run, and the status and results.
create table golden_runs (
  id text primary key,
  pipeline text not null,
  golden_set text not null,
  golden_set_version integer not null,
  trigger text not null check (trigger in ('schedule', 'manual', 'sentinel')),
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
  -- Fingerprints of the store, the embedder and other services when the run ended, by service.
  fingerprints jsonb not null default '{}',
  -- Judged documents that were looked up in the store, and how many are superseded or deleted; null if the store could
  -- not be probed.
  labels_probed integer,
  labels_stale integer,
  -- Missing documents that the manifest lists as deleted; labels_stale includes them.
  labels_deleted integer,
  -- Missing documents without a replacement, not counted in labels_stale.
  labels_lost integer,
  -- Queries for which all relevant documents are superseded or deleted.
  queries_dead integer,
  -- One sentence that states why the store could not be probed.
  labels_gap text,
  -- A sentinel run sends a few queries between full runs.
  purpose text not null default 'full' check (purpose in ('full', 'sentinel')),
  -- The queries to send; null: every query in the set.
  query_ids text[],
  -- One sentence that states why the run is outside its schedule.
  cause text,
  -- When the run's results were deleted after the retention time; null while they exist.
  answers_deleted_at timestamptz,
  -- Number of deleted results by outcome; null while the results exist.
  outcomes jsonb,
  -- Sentences about likely mistakes in the config or in the set, as the results indicate.
  warnings text[] not null default '{}',
  -- Queries with forbidden documents that were answered and that failed, and results whose second request failed; null
  -- if not tested.
  forbidden_asked integer,
  forbidden_failed integer,
  forbidden_unconfirmed integer,
  -- Queries without an answer: how many were sent, failed and were answered, and the worst of these; null if the set
  -- has none.
  no_answer jsonb,
  -- What its stages kept and lost, with confidence intervals.
  stages jsonb,
  foreign key (golden_set, golden_set_version) references golden_sets (name, version),
  check ((status = 'running') = (finished_at is null)),
  check ((answers_deleted_at is null) = (outcomes is null))
);

create index golden_runs_running on golden_runs (started_at) where status = 'running';
-- While a new version runs beside the old version, a tick has one run of each.
create unique index golden_runs_one_per_tick
  on golden_runs (pipeline, golden_set, purpose, golden_set_version, scheduled_for);
-- Failed sentinels start at most one full run at a time.
create unique index golden_runs_one_escalation on golden_runs (pipeline, golden_set)
  where trigger = 'sentinel' and status = 'running';
create index golden_runs_newest on golden_runs (pipeline, golden_set, purpose, started_at desc);
-- Serves the latest runs of each golden set from the index, so that a long history does not slow these reads down.
create index golden_runs_newest_of_version
  on golden_runs (purpose, pipeline, golden_set, golden_set_version desc, started_at desc) include (status);
-- For lists over all pipelines.
create index golden_runs_latest on golden_runs (purpose, started_at desc, id desc);
create index golden_runs_with_answers on golden_runs (pipeline, golden_set, started_at)
  where answers_deleted_at is null and purpose = 'full';

create function count_golden_run() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.purpose = 'full' then
    update golden_run_totals set runs = runs - 1
     where pipeline = old.pipeline and golden_set = old.golden_set and golden_set_version = old.golden_set_version
       and status = old.status;
  end if;
  if tg_op <> 'DELETE' and new.purpose = 'full' then
    insert into golden_run_totals as t (pipeline, golden_set, golden_set_version, status, runs)
    values (new.pipeline, new.golden_set, new.golden_set_version, new.status, 1)
    on conflict (pipeline, golden_set, golden_set_version, status) do update set runs = t.runs + 1;
  end if;
  return null;
end $$;

create trigger golden_runs_counted after insert or delete or update of status on golden_runs
  for each row execute function count_golden_run();

-- Batches of a run. Each batch is claimed by one worker at a time.
create table golden_run_batches (
  run_id text not null references golden_runs (id) on delete cascade,
  batch integer not null,
  lease_holder text,
  lease_until timestamptz,
  done boolean not null default false,
  primary key (run_id, batch)
);

-- One row per query in a run. The primary key prevents a retried or resumed run from counting a query twice.
create table golden_run_answers (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  document_ids text[] not null,
  scores double precision[] not null,
  -- Step of the query that returned each document, from 1; null for a query without steps.
  document_steps smallint[],
  latency_ms double precision,
  attempts integer not null,
  error_code text,
  error_message text,
  -- Order of arrival: the first failure explains an outage.
  answered_at timestamptz default clock_timestamp(),
  context_characters integer,
  context_repeated double precision,
  -- Ranks of the judged documents in each stage, never the stage's full list.
  stages jsonb,
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
  -- Drop that a regression check detects with a probability of 0.8.
  smallest_detectable_drop double precision,
  -- The interval from this run on its own.
  ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  n integer check (n >= 0),
  -- True if this run on its own is beyond the threshold, whether or not other runs confirm it.
  is_beyond boolean not null,
  primary key (run_id, name, severity)
);

-- Forbidden documents that a second request also returned.
create table golden_run_forbidden (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  document_id text not null,
  rank integer not null,
  primary key (run_id, query_id, document_id)
);

create table golden_run_missing_documents (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  document_id text not null,
  grade integer not null,
  -- superseded: its text has another id. deleted: the manifest lists it as deleted. lost: nothing replaced it.
  fate text not null check (fate in ('superseded', 'deleted', 'lost')),
  primary key (run_id, query_id, document_id)
);

-- Number of full runs per version by status, counted on write so that a scrape need not count.
create table golden_run_totals (
  pipeline text not null,
  golden_set text not null,
  golden_set_version integer not null,
  status text not null,
  runs bigint not null,
  primary key (pipeline, golden_set, golden_set_version, status)
);

-- A pin never changes; it only ends. The history shows against which baseline each alert was evaluated.
create table golden_baselines (
  id bigint generated always as identity primary key,
  pipeline text not null,
  golden_set text not null,
  run_id text not null references golden_runs (id) on delete cascade,
  note text,
  noise jsonb not null,
  -- Runs excluded from the noise measurement, and why: [{"runId", "reason"}].
  excluded_runs jsonb not null default '[]',
  pinned_at timestamptz not null,
  unpinned_at timestamptz
);

create unique index golden_baselines_one_pinned on golden_baselines (pipeline, golden_set) where unpinned_at is null;
create index golden_baselines_run on golden_baselines (run_id);

-- Mean score of each query over the runs from which a baseline's noise was measured.
create table golden_baseline_scores (
  baseline_id bigint not null references golden_baselines (id) on delete cascade,
  measure text not null,
  k integer not null,
  -- In the order of the queries in the pinned run's set version.
  means double precision[] not null,
  primary key (baseline_id, measure, k)
);

-- Comparisons of a run with the pinned baseline, and with the last run before the store or the model changed.
create table golden_run_comparisons (
  run_id text not null references golden_runs (id) on delete cascade,
  kind text not null check (kind in ('baseline', 'deployment')),
  against text not null,
  segment text not null,
  measure text not null,
  k integer not null,
  n integer not null,
  -- Queries excluded because one of their relevant documents is missing.
  excluded integer not null,
  baseline double precision not null,
  candidate double precision not null,
  difference double precision not null,
  ci_low double precision not null,
  ci_high double precision not null,
  ci_method text not null,
  t double precision,
  df double precision not null,
  p_t double precision not null,
  p_randomization double precision not null,
  p_method text not null,
  mcnemar_p double precision,
  -- The p-value behind the verdict, which takes the retriever's noise into account.
  p double precision not null,
  wins integer not null,
  losses integer not null,
  ties integer not null,
  standard_deviation double precision not null,
  smallest_detectable_difference double precision,
  verdict text not null check (verdict in ('regression', 'improvement', 'no_change', 'inconclusive')),
  primary key (run_id, kind, segment, measure, k)
);

-- Scheduled ticks that started no run.
create table golden_skips (
  pipeline text not null,
  golden_set text not null,
  purpose text not null check (purpose in ('full', 'sentinel')),
  planned_for timestamptz not null,
  reason text not null check (reason in ('quiet_hours', 'daily_budget', 'still_running', 'missed', 'no_full_run')),
  noted_at timestamptz not null,
  primary key (pipeline, golden_set, purpose, planned_for)
);

-- Total number of skipped ticks per schedule. Ticks are deleted after 30 days; this counter is not.
create table golden_skip_totals (
  pipeline text not null,
  golden_set text not null,
  purpose text not null check (purpose in ('full', 'sentinel')),
  reason text not null check (reason in ('quiet_hours', 'daily_budget', 'still_running', 'missed', 'no_full_run')),
  total bigint not null,
  primary key (pipeline, golden_set, purpose, reason)
);

-- Current callers of a retriever, and how many queries each may have in flight.
create table retriever_shares (
  pipeline text not null,
  holder text not null,
  slots integer not null,
  failures_in_a_row integer not null,
  until timestamptz not null,
  primary key (pipeline, holder)
);

-- When the next request to a retriever may start, over all callers.
create table retriever_rates (
  pipeline text primary key,
  next_slot timestamptz not null
);
