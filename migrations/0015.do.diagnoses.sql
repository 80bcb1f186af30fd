-- What was likely behind the alarms of each pipeline, from the first check in alarm to the last that ended?
create table diagnoses (
  id bigint generated always as identity primary key,
  pipeline text not null,
  opened_at timestamptz not null,
  -- When what is known was last looked at and came to something else.
  revised_at timestamptz not null,
  -- Null while a check is in alarm and no other cause took its place.
  closed_at timestamptz,
  cause text not null,
  confidence text not null check (confidence in ('high', 'medium', 'low')),
  -- Posterior of the cause, 0..1.
  probability double precision not null,
  -- For an annotation of an alert.
  summary text not null check (char_length(summary) <= 300),
  -- Names of what is in alarm.
  alarms text[] not null,
  -- The golden run that was looked at, and the good one before it; null where there was none.
  run_id text,
  reference_run_id text,
  -- Every cause with its posterior, and every sign with its sentence.
  findings jsonb not null
);

-- However many replicas look, a pipeline has one diagnosis at a time.
create unique index diagnoses_open on diagnoses (pipeline) where closed_at is null;
create index diagnoses_pipeline on diagnoses (pipeline, id desc);
