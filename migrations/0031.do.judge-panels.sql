-- Does the judge still grade as it did when it began?

alter table deployments drop constraint deployments_kind_check;
alter table deployments add constraint deployments_kind_check
  check (kind in ('index', 'embedder', 'retriever', 'golden', 'judge'));
alter table fingerprints drop constraint fingerprints_part_check;
alter table fingerprints add constraint fingerprints_part_check check (part in ('index', 'embedder', 'judge'));

create table judge_panels (
  pipeline text primary key,
  -- What grades, by the config.
  fingerprint text not null,
  -- How often it was seen to grade otherwise since, and when last.
  changes integer not null default 0,
  changed_at timestamptz,
  -- Since when it grades as it does.
  since timestamptz not null,
  -- The last day (UTC) whose grades were held against the first ones.
  judged_on date
);

-- Pairs of a query and a document that the judge grades again every day.
create table judge_panel_pairs (
  pipeline text not null,
  query_id text not null,
  document_id text not null,
  content_hash text not null,
  joined_on date not null,
  -- Grades at first, when it was first asked again, and at last; 0 where it gave none, as in the scores.
  first_grade smallint not null check (first_grade between 0 and 3),
  repeat_grade smallint check (repeat_grade between 0 and 3),
  grade smallint not null check (grade between 0 and 3),
  -- The day (UTC) of the last grade.
  graded_on date not null,
  leased_until timestamptz,
  primary key (pipeline, query_id, document_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade
);
