-- When a retained baseline query was last searched again, and what it scored then.
alter table density_baseline_queries
  add column asked_again_at timestamptz,
  add column score_again double precision;
