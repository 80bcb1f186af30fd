-- What does each check stand at, since when, and what do the latest measurements show instead?
create table check_states (
  pipeline text not null,
  check_name text not null,
  severity text not null check (severity in ('critical', 'warning')),
  threshold double precision not null check (threshold > '-infinity' and threshold < 'infinity'),
  verdict text not null check (verdict in ('ok', 'warning', 'critical', 'no_data')),
  since timestamptz not null,
  -- The last verdict that was one on data.
  last_known text check (last_known in ('ok', 'warning', 'critical')),
  candidate text check (candidate in ('ok', 'warning', 'critical', 'no_data')),
  seen integer not null check (seen >= 0),
  value double precision check (value > '-infinity' and value < 'infinity'),
  -- What a regression check would find with a chance of 0.8.
  smallest_detectable_drop double precision,
  segment text,
  -- Null when nothing has judged it yet.
  explanation text,
  -- There is too little to judge, and the config takes that as no alarm.
  is_quiet boolean not null,
  -- When what it was judged by was measured; null for nothing.
  evidence_at timestamptz,
  updated_at timestamptz not null,
  revision bigint not null,
  -- When what was last said of it was found; null when nothing was.
  evaluated_at timestamptz,
  -- From then on it is too old to trust; null: never.
  trusted_until timestamptz,
  -- What the value is of: `ndcg@10`, `error_ratio`. A check that comes to watch something else starts anew.
  measure text not null,
  ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  n integer check (n >= 0),
  -- The last value while it was ok.
  before double precision check (before > '-infinity' and before < 'infinity'),
  -- When the first measurement beyond the threshold was taken; null while none is.
  breached_since timestamptz,
  -- The pinned run that the value is a difference to; null for a value by itself.
  compared_with text,
  -- Until when the retriever was last seen not to answer, where that is all that broke the check.
  outage_until timestamptz,
  primary key (pipeline, check_name)
);

-- When did a check change its verdict, from what to what, and why?
create table check_transitions (
  id bigint generated always as identity primary key,
  pipeline text not null,
  check_name text not null,
  severity text not null,
  -- Null for the first verdict of a check.
  from_verdict text,
  to_verdict text not null,
  occurred_at timestamptz not null,
  threshold double precision not null,
  value double precision,
  segment text,
  explanation text not null
);

create index check_transitions_pipeline on check_transitions (pipeline, check_name, id desc);
create index check_transitions_occurred on check_transitions (occurred_at);

-- What was in alarm on each pipeline, from the first alarm to the end of the last, and how did each of them go?
create table incidents (
  id bigint generated always as identity primary key,
  pipeline text not null,
  opened_at timestamptz not null,
  -- Null while something is in alarm.
  closed_at timestamptz,
  -- `left_config`: what was in alarm is no longer configured, and was not seen to recover. Null for those of before.
  closed_because text check (closed_because in ('resolved', 'left_config')),
  -- The worst that it came to.
  severity text not null check (severity in ('warning', 'critical')),
  -- When it was last looked at.
  evaluated_at timestamptz not null,
  -- When its cause had been looked for twice, and may be told.
  confirmed_at timestamptz,
  -- Of each alarm: when it opened and ended, how it stands, and its worst with its sentence.
  timeline jsonb not null
);

-- However many replicas look, a pipeline has one incident at a time.
create unique index incidents_open on incidents (pipeline) where closed_at is null;
create index incidents_pipeline on incidents (pipeline, id desc);

-- What was likely behind the alarms of each pipeline, from the first check in alarm to the last that ended?
create table diagnoses (
  id bigint generated always as identity primary key,
  -- When what is known was last looked at and came to something else.
  diagnosed_at timestamptz not null,
  cause text not null,
  confidence text not null check (confidence in ('high', 'medium', 'low')),
  -- Posterior of the cause, 0..1.
  probability double precision not null,
  -- For an annotation of an alert.
  summary text not null check (char_length(summary) <= 300),
  -- Names of what is in alarm.
  alerts text[] not null,
  -- The golden run that was looked at, and the good one before it; null where there was none.
  run_id text,
  reference_run_id text,
  -- Every cause with its posterior, and every sign with its sentence.
  findings jsonb not null,
  -- A diagnosis is what was said in an incident, and when; it is never said otherwise afterwards.
  incident_id bigint not null references incidents on delete cascade
);

create index diagnoses_incident on diagnoses (incident_id, id desc);

-- Which messages about incidents were due to whom, and did they arrive?
create table notifications (
  id bigint generated always as identity primary key,
  incident_id bigint not null references incidents on delete cascade,
  -- Hash of where it goes, so that no address is kept here.
  receiver text not null,
  event text not null check (event in ('opened', 'updated', 'closed')),
  -- The cause that it told; null when none was known.
  cause text,
  due_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  sent_at timestamptz,
  given_up_at timestamptz
);

-- However many replicas look, one message opens and one closes.
create unique index notifications_once on notifications (incident_id, receiver, event) where event <> 'updated';
create index notifications_incident on notifications (incident_id, receiver, id);
create index notifications_due on notifications (next_attempt_at) where sent_at is null and given_up_at is null;
