-- Which run are others compared with, what came of it, and which labels are still alive?
alter table golden_runs
  -- What the store and the embedder were made of when the run ended, by part.
  add column fingerprints jsonb not null default '{}',
  -- Judged documents that were looked for in the store, and how many are gone; null when nobody could look.
  add column labels_probed integer,
  add column labels_stale integer,
  -- Of those that are gone, not counted in labels_stale: nothing took their place.
  add column labels_lost integer,
  -- Queries whose every relevant document is gone.
  add column queries_dead integer,
  -- Why nobody could look, one sentence.
  add column labels_gap text;

-- A pin is never changed, only ended: the history shows what alarms were judged by.
create table golden_baselines (
  id bigint generated always as identity primary key,
  pipeline text not null,
  golden_set text not null,
  run_id text not null references golden_runs (id) on delete cascade,
  note text,
  noise jsonb not null,
  -- Runs that were near, and why the noise was not learned from them: [{"runId", "reason"}].
  left_out jsonb not null default '[]',
  pinned_at timestamptz not null,
  unpinned_at timestamptz
);

create unique index golden_baselines_one_pinned on golden_baselines (pipeline, golden_set) where unpinned_at is null;
create index golden_baselines_run on golden_baselines (run_id);

-- A run against the pinned baseline, and against the last run before the store or the model changed.
create table golden_run_comparisons (
  run_id text not null references golden_runs (id) on delete cascade,
  kind text not null check (kind in ('baseline', 'deployment')),
  against text not null,
  segment text not null,
  measure text not null,
  k integer not null,
  n integer not null,
  -- Queries left out because a relevant document of theirs is gone.
  excluded integer not null,
  baseline double precision not null,
  candidate double precision not null,
  difference double precision not null,
  ci_low double precision not null,
  ci_high double precision not null,
  ci_method text not null,
  t double precision,
  df double precision not null,
  p_t double precision not null,
  p_randomization double precision not null,
  p_method text not null,
  mcnemar_p double precision,
  -- By which the verdict is found: it knows the noise of the retriever.
  p double precision not null,
  wins integer not null,
  losses integer not null,
  ties integer not null,
  standard_deviation double precision not null,
  smallest_detectable_difference double precision,
  verdict text not null check (verdict in ('regression', 'improvement', 'no_change', 'inconclusive')),
  primary key (run_id, kind, segment, measure, k)
);

create table golden_run_stale_labels (
  run_id text not null references golden_runs (id) on delete cascade,
  query_id text not null,
  document_id text not null,
  grade integer not null,
  -- Superseded: its text is under another id, or the manifest deleted it. Lost: nothing took its place.
  fate text not null check (fate in ('superseded', 'lost')),
  primary key (run_id, query_id, document_id)
);
