-- Status of each check: its verdict, since when, and what the latest measurements show.
create table check_states (
  pipeline text not null,
  check_name text not null,
  severity text not null check (severity in ('critical', 'warning')),
  threshold double precision not null check (threshold > '-infinity' and threshold < 'infinity'),
  verdict text not null check (verdict in ('ok', 'warning', 'critical', 'no_data')),
  since timestamptz not null,
  -- The last verdict other than no_data.
  last_known text check (last_known in ('ok', 'warning', 'critical')),
  candidate text check (candidate in ('ok', 'warning', 'critical', 'no_data')),
  seen integer not null check (seen >= 0),
  value double precision check (value > '-infinity' and value < 'infinity'),
  -- Drop that a regression check detects with 80 % power.
  smallest_detectable_drop double precision,
  segment text,
  -- Null before the first evaluation.
  explanation text,
  -- True if there is too little data and the config does not alert on missing data.
  is_quiet boolean not null,
  -- Time of the evaluated measurement; null if there was none.
  evidence_at timestamptz,
  updated_at timestamptz not null,
  revision bigint not null,
  -- When the run, window or reading behind the explanation ended; null if there was none.
  evaluated_at timestamptz,
  -- After this time the status is too old to trust; null: never.
  trusted_until timestamptz,
  -- Such as `ndcg@10` or `error_ratio`. A check whose measure changes starts over.
  measure text not null,
  ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  n integer check (n >= 0),
  -- The last value while the check was OK.
  before double precision check (before > '-infinity' and before < 'infinity'),
  -- Time of the first measurement beyond the threshold; null if the check does not fail.
  breached_since timestamptz,
  -- Pinned run with which the value is compared; null for an absolute value.
  compared_with text,
  -- When the last known retriever outage ended, if only outages made the check fail.
  outage_until timestamptz,
  primary key (pipeline, check_name)
);

-- Changes in check verdicts, with explanations.
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

-- Incidents of each pipeline, from the first firing alert until all are resolved.
create table incidents (
  id bigint generated always as identity primary key,
  pipeline text not null,
  opened_at timestamptz not null,
  -- Null while an alert fires.
  closed_at timestamptz,
  -- `left_config`: the alerts were removed from the config before they recovered. Null while open.
  closed_because text check (closed_because in ('resolved', 'left_config')),
  -- Worst severity of the incident.
  severity text not null check (severity in ('warning', 'critical')),
  -- Time of the latest evaluation.
  evaluated_at timestamptz not null,
  -- When a second diagnosis confirmed or corrected the cause, which may then be reported.
  confirmed_at timestamptz,
  -- For each alert: when it fired and was resolved, its current severity, and its worst value with its sentence.
  timeline jsonb not null,
  -- When a person took charge of it, and who; null until then.
  acknowledged_at timestamptz,
  acknowledged_by text
);

-- A pipeline has one open incident at a time, regardless of the number of replicas.
create unique index incidents_open on incidents (pipeline) where closed_at is null;
create index incidents_pipeline on incidents (pipeline, id desc);

-- Incident diagnoses: one row per change.
create table diagnoses (
  id bigint generated always as identity primary key,
  -- When the diagnosis was made.
  diagnosed_at timestamptz not null,
  cause text not null,
  confidence text not null check (confidence in ('high', 'medium', 'low')),
  -- Posterior probability of the cause, 0..1.
  probability double precision not null,
  -- Used for an alert annotation.
  summary text not null check (char_length(summary) <= 300),
  -- Names of the firing alerts.
  alerts text[] not null,
  -- The examined golden run and the last good run; null if there was none.
  run_id text,
  reference_run_id text,
  -- All causes with their posterior probabilities, and all signs with their sentences.
  findings jsonb not null,
  -- A diagnosis is never changed afterwards.
  incident_id bigint not null references incidents on delete cascade
);

create index diagnoses_incident on diagnoses (incident_id, id desc);

-- Causes that people marked as right or wrong; the last mark of an incident counts.
create table cause_marks (
  incident_id bigint primary key references incidents on delete cascade,
  -- The diagnosis that was marked.
  diagnosis_id bigint not null references diagnoses on delete cascade,
  is_right boolean not null,
  -- What the cause was instead; null if it was right, or if that is unknown.
  actual_cause text,
  marked_at timestamptz not null,
  marked_by text not null
);

-- Incident notifications to receivers, and whether they were delivered.
create table notifications (
  id bigint generated always as identity primary key,
  incident_id bigint not null references incidents on delete cascade,
  -- Hash of the destination, so that no address is stored.
  receiver text not null,
  event text not null check (event in ('opened', 'updated', 'closed')),
  -- The reported cause; null if it was unknown.
  cause text,
  due_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  sent_at timestamptz,
  given_up_at timestamptz
);

-- One message opens and one closes an incident, regardless of the number of replicas.
create unique index notifications_once on notifications (incident_id, receiver, event) where event <> 'updated';
create index notifications_incident on notifications (incident_id, receiver, id);
create index notifications_due on notifications (next_attempt_at) where sent_at is null and given_up_at is null;

-- Times in which the messages and alerts of a pipeline are held back, such as maintenance.
create table silences (
  id bigint generated always as identity primary key,
  pipeline text not null,
  starts_at timestamptz not null,
  -- Moved forward when a person ends the silence; equal to the start if it was ended before.
  ends_at timestamptz not null check (ends_at >= starts_at),
  reason text not null check (char_length(reason) between 1 and 500),
  created_at timestamptz not null,
  created_by text not null
);

create index silences_ends on silences (ends_at);
