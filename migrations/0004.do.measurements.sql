-- Values of scheduled measures. Partitioned by the month (UTC) in which the window ends, so that old months are dropped
-- as a whole.
create table measurements (
  pipeline text not null,
  measure text not null,
  segment text not null default 'all',
  window_start timestamptz not null,
  window_end timestamptz not null check (window_end >= window_start),
  measured_at timestamptz not null,
  -- PostgreSQL sorts NaN above infinity, so these checks exclude all values that are not finite.
  value double precision not null check (value > '-infinity' and value < 'infinity'),
  ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  ci_method text,
  n integer not null check (n >= 0),
  details jsonb not null,
  primary key (pipeline, measure, segment, window_end)
) partition by range (window_end);

-- Lowest and highest value per hour with bounds, so that charts over months need not read all rows. Updated with every
-- write to `measurements`, and partitioned in the same way.
create table measurement_hours (
  pipeline text not null,
  measure text not null,
  segment text not null,
  hour timestamptz not null,
  -- [value, window end, lower bound, upper bound]; a missing bound is infinite.
  lowest double precision[] not null,
  highest double precision[] not null,
  primary key (pipeline, measure, segment, hour)
) partition by range (hour);

-- Latest value of each series, for fast scrapes.
create table latest_measurements (
  pipeline text not null,
  measure text not null,
  segment text not null,
  window_start timestamptz not null,
  window_end timestamptz not null,
  measured_at timestamptz not null,
  value double precision not null,
  ci_low double precision,
  ci_high double precision,
  ci_method text,
  n integer not null,
  details jsonb not null,
  primary key (pipeline, measure, segment)
);

-- Reason why the latest measurement in a series has no value; deleted once the same or a later window has a value.
create table measurement_gaps (
  pipeline text not null,
  measure text not null,
  segment text not null,
  window_start timestamptz not null,
  window_end timestamptz not null check (window_end >= window_start),
  measured_at timestamptz not null,
  reason text not null,
  details jsonb not null,
  primary key (pipeline, measure, segment)
);
