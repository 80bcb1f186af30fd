-- Which variant of the service do users fare better with?

-- A whole day (UTC) of a comparison of variants, as sums over its sessions. Written once: what comes later is left out, so
-- that a verdict rests on what was known when it was said.
create table variant_days (
  pipeline text not null,
  -- Of the tag, the arms with their shares, and the start: another of them begins anew.
  comparison text not null,
  day date not null,
  -- {arm: {sessions, measures: {measure: [sums]}}}
  arms jsonb not null,
  -- Sessions that saw more than one arm, and those with a value that is none; in no sum.
  mixed integer not null,
  unnamed integer not null,
  summed_at timestamptz not null,
  primary key (pipeline, comparison, day)
);
