-- What roles.sql cannot give before the tables are there. To be run as recalld_owner after each `recalld migrate`.

-- PostgreSQL lets owners alone attach and drop partitions.
do $$
declare
  owned regclass;
begin
  for owned in
    select c.oid from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relname in ('live_queries', 'feedback', 'query_coverage', 'measurements')
    union all
    select i.inhrelid from pg_inherits i join pg_class c on c.oid = i.inhparent
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'p'
       and c.relname in ('live_queries', 'feedback', 'query_coverage', 'measurements')
  loop
    execute format('alter table %s owner to recalld_app', owned);
  end loop;
end
$$;

-- A ring that is emptied part by part.
grant truncate on trace_fragments_0, trace_fragments_1, trace_fragments_2 to recalld_app;

-- Only a migration says which version the schema has.
revoke insert, update, delete on recalld_schema_version from recalld_app;
