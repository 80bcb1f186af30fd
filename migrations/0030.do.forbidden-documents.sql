-- Which documents must a question never bring, and which did it bring?
alter table golden_queries
  -- Ids, or beginnings of ids that end in an asterisk.
  add column forbidden text[] not null default '{}';

alter table golden_runs
  -- Queries with forbidden documents that were answered and that failed, and results whose second asking failed; null when nobody looked.
  add column forbidden_asked integer,
  add column forbidden_failed integer,
  add column forbidden_unconfirmed integer;

-- Only what a second asking brought again.
create table golden_run_forbidden (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  document_id text not null,
  rank integer not null,
  primary key (run_id, query_id, document_id)
);
