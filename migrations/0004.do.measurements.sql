-- What were the scheduled measures of a pipeline, when, over which window, and why is there none?
-- Partitioned by the month (UTC) in which the window ended, so that old months are dropped whole.
create table measurements (
  pipeline text not null,
  measure text not null,
  segment text not null default 'all',
  window_start timestamptz not null,
  window_end timestamptz not null check (window_end >= window_start),
  measured_at timestamptz not null,
  -- NaN is above infinity in the order of PostgreSQL, so that these keep out all that is not finite.
  value double precision not null check (value > '-infinity' and value < 'infinity'),
  ci_low double precision check (ci_low > '-infinity' and ci_low < 'infinity'),
  ci_high double precision check (ci_high > '-infinity' and ci_high < 'infinity'),
  ci_method text,
  n integer not null check (n >= 0),
  details jsonb not null,
  primary key (pipeline, measure, segment, window_end)
) partition by range (window_end);

-- The lowest and the highest value of each hour with its bounds, so that a page over months reads no row of five minutes.
-- Made of `measurements` with each row that is written there, and partitioned likewise.
create table measurement_hours (
  pipeline text not null,
  measure text not null,
  segment text not null,
  hour timestamptz not null,
  -- When the window ended, what it came to, and its bounds; an infinite bound stands for none.
  lowest double precision[] not null,
  highest double precision[] not null,
  primary key (pipeline, measure, segment, hour)
) partition by range (hour);

-- The newest of each series, so that a scrape has nothing to search.
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

-- Why the latest attempt at a series came to no value; gone when a later or the same window has one.
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
