-- Grants that need existing tables. `recalld migrate --grant` runs this as recalld_owner after each migration.

-- PostgreSQL lets only owners attach and drop partitions. Tables that already changed owner are not locked again.
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

-- These tables form a ring and are truncated one by one.
grant truncate on trace_fragments_0, trace_fragments_1, trace_fragments_2 to recalld_app;

-- Only migrations set the schema version.
revoke insert, update, delete on recalld_schema_version from recalld_app;
