-- By what was a check judged, how was it before it broke, and since when?
alter table check_states
  -- What the value is of: `ndcg@10`, `error_ratio`. A check that comes to watch something else starts anew.
  add column measure text not null default '',
  add column ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  add column ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  add column n integer check (n >= 0),
  -- The last value while it was ok.
  add column before double precision check (before > '-infinity' and before < 'infinity'),
  -- When the first measurement beyond the threshold was taken; null while none is.
  add column breached_since timestamptz,
  -- The pinned run that the value is a difference to; null for a value by itself.
  add column compared_with text,
  -- Until when the retriever was last seen not to answer, where that is all that broke the check.
  add column outage_until timestamptz;

alter table check_states alter column measure drop default;

-- What the checks of a run say of it by itself.
alter table golden_run_checks
  add column ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  add column ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  add column n integer check (n >= 0),
  -- Whether this run by itself is beyond the threshold, confirmed by others or not.
  add column is_beyond boolean;

update golden_run_checks set is_beyond = verdict in ('warning', 'critical');

alter table golden_run_checks alter column is_beyond set not null;
