-- Which questions does nothing in the store answer, so that an empty answer to them is right?
alter table golden_queries
  add column no_answer boolean not null default false;

alter table golden_runs
  -- How many of them were asked, failed and were answered nevertheless, and the worst of these; null when the set has none.
  add column no_answer jsonb;
