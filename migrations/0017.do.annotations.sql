-- What did people note about golden runs and deployments?
create table annotations (
  id bigint generated always as identity primary key,
  subject text not null check (subject in ('run', 'deployment')),
  subject_id text not null,
  text text not null,
  -- Name of the API key; null where none is needed.
  author text,
  created_at timestamptz not null
);

create index annotations_subject on annotations (subject, subject_id, id);
