-- How many of the live queries that wait for their coverage are admitted, while more come than can be searched?
create table coverage_admissions (
  pipeline text primary key,
  -- Queries that were received before it are decided on.
  settled_until timestamptz not null,
  -- The chance of being admitted is 2^-level.
  level smallint not null check (level >= 0),
  waiting double precision not null,
  is_overdue boolean not null,
  calm_since timestamptz,
  -- All that were ever left out.
  left_out bigint not null
);
