-- Small runs between the full ones, runs that many workers share, ticks that came to no run, and new versions of a set
-- that run beside the old one.
alter table golden_runs
  add column purpose text not null default 'full' check (purpose in ('full', 'sentinel')),
  -- What is asked; null: every query of the set.
  add column query_ids text[],
  -- Why it runs outside its schedule, one sentence.
  add column cause text,
  drop constraint golden_runs_trigger_check,
  add constraint golden_runs_trigger_check check (trigger in ('schedule', 'manual', 'sentinel'));

drop index golden_runs_one_per_tick;
-- While a new version runs beside the old one, a tick has a run of each.
create unique index golden_runs_one_per_tick
  on golden_runs (pipeline, golden_set, purpose, golden_set_version, scheduled_for);
-- However many sentinels fall, one full run looks after them.
create unique index golden_runs_one_escalation on golden_runs (pipeline, golden_set)
  where trigger = 'sentinel' and status = 'running';
drop index golden_runs_newest;
create index golden_runs_newest on golden_runs (pipeline, golden_set, purpose, started_at desc);

-- Parts of a run that workers take one at a time.
create table golden_run_batches (
  run_id text not null references golden_runs (id) on delete cascade,
  batch integer not null,
  lease_holder text,
  lease_until timestamptz,
  done boolean not null default false,
  primary key (run_id, batch)
);

-- Who asks a retriever now, and how many queries each may have in flight.
create table retriever_shares (
  pipeline text not null,
  holder text not null,
  slots integer not null,
  failures_in_a_row integer not null,
  until timestamptz not null,
  primary key (pipeline, holder)
);

-- When a retriever may be asked next, over all who ask it.
create table retriever_paces (
  pipeline text primary key,
  next_turn timestamptz not null
);

-- Ticks of a schedule that came to no run.
create table golden_skips (
  pipeline text not null,
  golden_set text not null,
  purpose text not null check (purpose in ('full', 'sentinel')),
  planned_for timestamptz not null,
  reason text not null check (reason in ('quiet_hours', 'daily_budget', 'still_running', 'missed', 'no_full_run')),
  noted_at timestamptz not null,
  primary key (pipeline, golden_set, purpose, planned_for)
);

-- A new version of a set beside the one whose scores are exported.
create table golden_rotations (
  id bigint generated always as identity primary key,
  pipeline text not null,
  golden_set text not null,
  from_version integer not null,
  to_version integer not null,
  runs_needed integer not null,
  started_at timestamptz not null,
  -- Null while both versions run.
  ended_at timestamptz,
  outcome text check (outcome in ('completed', 'replaced')),
  -- Mean of each metric on the overlap, by version: {"ndcg@10": {"from": 0.8, "to": 0.75}}.
  levels jsonb not null default '{}',
  -- By how much the thresholds of checks moved with the level of the set, by name of the check.
  shifts jsonb not null default '{}',
  check ((ended_at is null) = (outcome is null))
);

create unique index golden_rotations_one_open on golden_rotations (pipeline, golden_set) where ended_at is null;
