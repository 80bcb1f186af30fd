-- In which order did the queries of a run come to their answers? The first failure is what an outage is told by.
alter table golden_run_answers add column answered_at timestamptz;
alter table golden_run_answers alter column answered_at set default clock_timestamp();

-- What of the answers of a run looks like a mistake of the config or of the set?
alter table golden_runs add column doubts text[] not null default '{}';
