-- What do the retrievers answer that may take the place of a pipeline's own, and what is known of them?

-- A live query of the sample that a shadow was asked, beside what users got.
create table shadow_answers (
  pipeline text not null,
  shadow text not null,
  -- Of what answered: another index, model or provider under the same name begins anew.
  fingerprint text not null,
  query_id text not null,
  received_at timestamptz not null,
  asked_at timestamptz not null,
  -- The draw of its session, which names what was sampled together.
  cluster double precision not null,
  -- Chance of being kept and asked.
  probability double precision not null check (probability > 0 and probability <= 1),
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  -- Documents, best first.
  document_ids text[] not null,
  -- Rank-biased overlap with what users got, and whether any document or rank differs; null where either side failed.
  overlap double precision,
  is_changed boolean,
  latency_ms double precision,
  primary key (pipeline, shadow, query_id)
);

create index shadow_answers_asked on shadow_answers (pipeline, shadow, asked_at);
create index shadow_answers_query on shadow_answers (pipeline, query_id);

-- Each test of a shadow on a golden set, by all of its runs until then. Written once: a test that was made is never made anew.
create table shadow_looks (
  pipeline text not null,
  shadow text not null,
  fingerprint text not null,
  golden_set text not null,
  -- From 1; each has half of the level of the one before it.
  look integer not null check (look >= 1),
  golden_set_version integer not null,
  run_id text not null references golden_runs (id) on delete cascade,
  against text not null,
  runs integer not null,
  k integer not null,
  n integer not null,
  baseline double precision not null,
  candidate double precision not null,
  difference double precision not null,
  ci_low double precision not null,
  ci_high double precision not null,
  ci_method text not null,
  p double precision not null,
  alpha double precision not null,
  standard_deviation double precision not null,
  -- Standard deviation of one question's difference from run to run; null after one run.
  noise double precision,
  smallest_detectable_difference double precision,
  verdict text not null check (verdict in ('regression', 'improvement', 'no_change', 'inconclusive')),
  looked_at timestamptz not null,
  primary key (pipeline, shadow, fingerprint, golden_set, look)
);
