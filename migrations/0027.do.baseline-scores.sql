-- What did each query score on average over the runs by which the pinned baseline was measured?
create table golden_baseline_scores (
  baseline_id bigint not null references golden_baselines (id) on delete cascade,
  measure text not null,
  k integer not null,
  -- In the order of the queries of the set version of the pinned run.
  means double precision[] not null,
  primary key (baseline_id, measure, k)
);
