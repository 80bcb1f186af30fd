-- Roles for a recalld that owns as little as it can: one that migrates, one that the daemon runs as. To be run by a
-- superuser in the database of recalld, before the first `recalld migrate`; it may be run again. See docs/how-to/security.md.
--
--   recalld_owner  owns the database and its tables; `recalld migrate` alone logs in with it
--   recalld_app    reads and writes rows, and owns what is made and dropped every day: partitions by time
do $$
begin
  if not exists (select from pg_roles where rolname = 'recalld_owner') then
    create role recalld_owner login;
  end if;
  if not exists (select from pg_roles where rolname = 'recalld_app') then
    create role recalld_app login;
  end if;
  execute format('alter database %I owner to recalld_owner', current_database());
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to recalld_app', current_database());
end
$$;

-- A migration changes a table together with its partitions, and those are the daemon's.
grant recalld_app to recalld_owner;

alter schema public owner to recalld_owner;
revoke all on schema public from public;
-- To make partitions is to make tables.
grant usage, create on schema public to recalld_app;

-- What migrations make, now and later; the job queue has a schema of its own.
alter default privileges for role recalld_owner grant usage on schemas to recalld_app;
alter default privileges for role recalld_owner grant select, insert, update, delete on tables to recalld_app;
alter default privileges for role recalld_owner grant usage on sequences to recalld_app;
