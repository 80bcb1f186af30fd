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
  looked_at timestamptz not null,
  -- When its cause had been looked for twice, and may be told.
  settled_at timestamptz,
  -- Of each alarm: when it opened and ended, how it stands, and its worst with its sentence.
  course jsonb not null
);

-- However many replicas look, a pipeline has one incident at a time.
create unique index incidents_open on incidents (pipeline) where closed_at is null;
create index incidents_pipeline on incidents (pipeline, id desc);

-- A diagnosis is what was said in an incident, and when; it is never said otherwise afterwards.
alter table diagnoses add column incident_id bigint references incidents on delete cascade;

insert into incidents (pipeline, opened_at, closed_at, severity, looked_at, settled_at, course)
select pipeline, opened_at, closed_at, 'critical', revised_at, revised_at,
       (select jsonb_agg(jsonb_build_object(
                 'name', name, 'alert', 'RecalldCheckCritical', 'goldenSet', null, 'severity', 'critical',
                 'stands', case when closed_at is null then 'critical' end,
                 'openedAt', opened_at, 'endedAt', closed_at, 'criticalAt', jsonb_build_array(opened_at),
                 'recovered', null,
                 'worst', jsonb_build_object('at', opened_at, 'headline', name, 'text', name, 'value', null)))
          from unnest(alarms) as name)
  from diagnoses where cardinality(alarms) > 0 order by id;
update diagnoses d set incident_id = i.id
  from incidents i where i.pipeline = d.pipeline and i.opened_at = d.opened_at;
delete from diagnoses where incident_id is null;

drop index diagnoses_open, diagnoses_pipeline;
alter table diagnoses alter column incident_id set not null;
alter table diagnoses drop column pipeline, drop column opened_at, drop column closed_at;
alter table diagnoses rename column revised_at to said_at;
create index diagnoses_incident on diagnoses (incident_id, id desc);

-- What does the config in force have, since when is a part no longer in it, and how long are the rows of a pipeline kept?
create table configured_parts (
  pipeline text not null,
  kind text not null check (kind in ('pipeline', 'golden_set', 'check')),
  -- Of the golden set or the check; that of the pipeline itself for a pipeline.
  name text not null,
  -- Days that its live queries are kept; of pipelines alone.
  retention_days integer,
  -- When a scheduler last had it in its config.
  seen_at timestamptz not null,
  -- Since when no scheduler has it; null while one does.
  ended_at timestamptz,
  primary key (pipeline, kind, name)
);
