-- For psql -v owner=... -v app=...: lets the roles of roles.sql in.
alter role recalld_owner password :'owner';
alter role recalld_app password :'app';
