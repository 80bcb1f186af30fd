-- What did each golden set last come to, however many runs of it are kept? Their versions, times and states are read
-- from the index alone, so that history costs a reading of them little.
create index golden_runs_newest_of_version
  on golden_runs (purpose, pipeline, golden_set, golden_set_version desc, started_at desc) include (status);

-- Of all pipelines together, for lists.
create index golden_runs_latest on golden_runs (purpose, started_at desc, id desc);

-- How many full runs of each version came to what? Counted as they are written, so that a scrape counts nothing.
create table golden_run_totals (
  pipeline text not null,
  golden_set text not null,
  golden_set_version integer not null,
  status text not null,
  runs bigint not null,
  primary key (pipeline, golden_set, golden_set_version, status)
);

create function count_golden_run() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.purpose = 'full' then
    update golden_run_totals set runs = runs - 1
     where pipeline = old.pipeline and golden_set = old.golden_set and golden_set_version = old.golden_set_version
       and status = old.status;
  end if;
  if tg_op <> 'DELETE' and new.purpose = 'full' then
    insert into golden_run_totals as t (pipeline, golden_set, golden_set_version, status, runs)
    values (new.pipeline, new.golden_set, new.golden_set_version, new.status, 1)
    on conflict (pipeline, golden_set, golden_set_version, status) do update set runs = t.runs + 1;
  end if;
  return null;
end $$;

insert into golden_run_totals (pipeline, golden_set, golden_set_version, status, runs)
select pipeline, golden_set, golden_set_version, status, count(*) from golden_runs where purpose = 'full'
 group by pipeline, golden_set, golden_set_version, status;

create trigger golden_runs_counted after insert or delete or update of status on golden_runs
  for each row execute function count_golden_run();

alter table golden_runs
  -- When its answers were deleted because they were old; null while they are there.
  add column answers_gone_at timestamptz,
  -- How many of them there were by outcome; null while they can be counted.
  add column outcomes jsonb,
  add check ((answers_gone_at is null) = (outcomes is null));

create index golden_runs_with_answers on golden_runs (pipeline, golden_set, started_at)
  where answers_gone_at is null and purpose = 'full';
