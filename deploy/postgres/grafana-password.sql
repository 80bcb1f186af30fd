-- For psql -v password=...: lets the role of the dashboards in.
alter role recalld_grafana login password :'password';
