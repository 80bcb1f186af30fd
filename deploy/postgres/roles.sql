-- Creates a role for migrations and one for the daemon, each with minimal rights. Run it as a superuser in recalld's
-- database before the first `recalld migrate`; it can be run again. See docs/how-to/security.md.
--
--   recalld_owner  owns the database and its tables; only `recalld migrate` uses it
--   recalld_app    reads and writes rows, and owns the tables partitioned by time, to create and drop their partitions
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

-- Migrations change tables together with their partitions, which the daemon's role owns.
grant recalld_app to recalld_owner;

alter schema public owner to recalld_owner;
revoke all on schema public from public;
-- Creating a partition means creating a table.
grant usage, create on schema public to recalld_app;

-- These grants cover the objects that migrations create, now and later. The job queue has its own schema.
alter default privileges for role recalld_owner grant usage on schemas to recalld_app;
alter default privileges for role recalld_owner grant select, insert, update, delete on tables to recalld_app;
alter default privileges for role recalld_owner grant usage on sequences to recalld_app;
