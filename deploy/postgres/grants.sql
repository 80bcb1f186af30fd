-- Grants that need existing tables. `recalld migrate --grant` runs this file as recalld_owner after each migration.

-- In PostgreSQL, only owners can attach and drop partitions. Tables that recalld_app already owns are not locked again.
do $$
declare
  owned regclass;
begin
  for owned in
    with parents as (
      select c.oid from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relname in ('live_queries', 'feedback', 'query_coverage', 'measurements', 'measurement_hours'))
    select c.oid from pg_class c
     where (c.oid in (select oid from parents) or c.oid in (select inhrelid from pg_inherits where inhparent in (select oid from parents)))
       and c.relkind in ('r', 'p') and c.relowner <> 'recalld_app'::regrole
  loop
    execute format('alter table %s owner to recalld_app', owned);
  end loop;
end
$$;

-- The daemon truncates these tables one at a time, in rotation.
grant truncate on trace_fragments_0, trace_fragments_1, trace_fragments_2 to recalld_app;

-- Only migrations set the schema version.
revoke insert, update, delete on recalld_schema_version from recalld_app;
