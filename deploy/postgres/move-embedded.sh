#!/bin/sh
# Copies all data from an embedded recalld into another PostgreSQL in one transaction.
#
#   deploy/postgres/move-embedded.sh .recalld postgres://recalld:PASSWORD@db.internal/recalld
# Requires a psql version that the target accepts. The embedded daemon must run but receive no traffic. The target
# must be empty and must have the same schema from `recalld migrate`. See deploy/README.md.
set -eu
[ $# -eq 2 ] || { echo 'usage: move-embedded.sh DATA_DIR TARGET_URL' >&2; exit 2; }
folder=$1 target=$2
port=$(sed -n 's/.*"port":\([0-9][0-9]*\).*/\1/p' "$folder/owner.json" 2>/dev/null || true)
[ -n "$port" ] || { echo "recalld is not running on $folder; start it with \`recalld serve\` first" >&2; exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077
printf '127.0.0.1:%s:recalld:recalld:%s\n' "$port" "$(cat "$folder/postgres/recalld.password")" >"$work/pass"
source="host=127.0.0.1 port=$port user=recalld dbname=recalld passfile=$work/pass sslmode=disable"
run() { psql "$@" --no-psqlrc --quiet --tuples-only --no-align -v ON_ERROR_STOP=1; }
ask() { run "$1" -c "$2"; }

version='select max(version) from recalld_schema_version'
[ "$(ask "$source" "$version")" = "$(ask "$target" "$version")" ] || {
  echo 'the schemas differ; run `recalld migrate` of the same version on the target' >&2; exit 2; }
[ "$(ask "$target" 'select (select count(*) from golden_sets) + (select count(*) from live_queries)')" = 0 ] || {
  echo 'the target is not empty' >&2; exit 2; }

# Generates the statements for the target from one snapshot, because the daemon's jobs continue to write. The target
# commits only at the end, so it commits nothing if the source fails early.
cat >"$work/tell.sql" <<'SQL'
begin isolation level repeatable read read only;
\echo '\\o /dev/null'
\echo 'begin; set local client_min_messages = warning;'

-- Creates the daily and monthly partitions that the target does not have yet.
select format('create table if not exists %I partition of %I %s;', c.relname, p.relname, pg_get_expr(c.relpartbound, c.oid))
  from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
 where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1;

-- Copies the tables, with referenced tables first.
with recursive referring as (
  select conrelid as table_id, confrelid as other from pg_constraint where contype = 'f' and conparentid = 0 and conrelid <> confrelid
), depth as (
  select oid as table_id, 0 as n from pg_class
   where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace and relname <> 'recalld_schema_version'
  union select r.table_id, d.n + 1 from depth d join referring r on r.other = d.table_id
), tables as (
  select t.table_id, max(t.n) as n, string_agg(distinct quote_ident(a.attname), ', ') as columns
    from depth t join pg_attribute a on a.attrelid = t.table_id and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   group by 1)
select format('select %L', format(E'delete from %s;\ncopy %s (%s) from stdin;', table_id::regclass, table_id::regclass, columns)),
       format('copy (select %s from %s) to stdout', columns, table_id::regclass),
       'select ''\.'''
  from tables order by n, table_id::regclass::text \gexec

-- Sets the identity sequences to the next free number.
select format('select setval(pg_get_serial_sequence(%L, %L), coalesce(max(%I), 0) + 1, false) from %I;', c.relname, a.attname, a.attname, c.relname)
  from pg_attribute a join pg_class c on c.oid = a.attrelid
 where a.attidentity <> '' and c.relnamespace = 'public'::regnamespace and not c.relispartition;

\echo 'commit;'
\echo '\\echo moved'
SQL
[ "$(run "$source" -f "$work/tell.sql" | run "$target")" = moved ] || {
  echo 'the move failed, and the target was not changed' >&2; exit 3; }
echo "moved $(ask "$target" 'select count(*) from live_queries') live queries, $(ask "$target" 'select count(*) from golden_runs') golden runs and all related data"
