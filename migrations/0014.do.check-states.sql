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
  explanation text not null,
  -- There is too little to judge, and the config takes that as no alarm.
  is_quiet boolean not null,
  -- When what it was judged by was measured; null for nothing.
  evidence_at timestamptz,
  evaluated_at timestamptz not null,
  revision bigint not null,
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
