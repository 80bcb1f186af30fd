-- What did each golden set last come to, however many runs of it are kept? Their versions, times and states are read
-- from the index alone, so that history costs a reading of them little.
create index golden_runs_newest_of_version
  on golden_runs (purpose, pipeline, golden_set, golden_set_version desc, started_at desc) include (status);
