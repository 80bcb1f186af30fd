-- Creates the role for Grafana's PostgreSQL panels. Run it after `recalld migrate`; it is idempotent. The role reads
-- runs, comparisons, verdicts, deployments and measures, but no query texts, live queries or feedback.
do $$
begin
  if not exists (select from pg_roles where rolname = 'recalld_grafana') then
    create role recalld_grafana nologin;
  end if;
  -- Needed if roles.sql revoked access to the database.
  execute format('grant connect on database %I to recalld_grafana', current_database());
end
$$;

alter role recalld_grafana set default_transaction_read_only = on;
alter role recalld_grafana set statement_timeout = '15s';

grant usage on schema public to recalld_grafana;
grant select on
  golden_runs, golden_run_scores, golden_run_checks, golden_run_comparisons, golden_run_missing_documents, golden_baselines,
  golden_judgments, deployments, latest_measurements, measurement_gaps
to recalld_grafana;
grant select (golden_set, version, query_id) on golden_queries to recalld_grafana;
grant select (run_id, query_id, outcome, document_ids, scores, latency_ms) on golden_run_answers to recalld_grafana;
