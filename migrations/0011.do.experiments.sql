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

-- A drawn live query that a shadow was asked, with the nDCG of both lists by the grades of one judge.
create table shadow_pairs (
  pipeline text not null,
  shadow text not null,
  -- Of what answered.
  fingerprint text not null,
  query_id text not null,
  received_at timestamptz not null,
  asked_at timestamptz not null,
  -- The draw of its session, which names what was drawn together.
  cluster double precision not null,
  probability double precision not null check (probability > 0 and probability <= 1),
  -- `failed`: the shadow did not answer. `ungraded`: a document of either list could not be read or graded.
  outcome text not null check (outcome in ('graded', 'failed', 'ungraded')),
  -- Documents of each list that were graded.
  k integer not null,
  baseline double precision,
  candidate double precision,
  primary key (pipeline, shadow, query_id),
  check ((outcome = 'graded') = (baseline is not null and candidate is not null))
);

create index shadow_pairs_asked on shadow_pairs (pipeline, shadow, asked_at);
create index shadow_pairs_query on shadow_pairs (pipeline, query_id);

-- A whole day (UTC) of pairs, as sums over its sessions. Written once: what is graded later is left out, so that a verdict
-- rests on what was known when it was said.
create table shadow_live_days (
  pipeline text not null,
  shadow text not null,
  fingerprint text not null,
  k integer not null,
  day date not null,
  queries integer not null,
  left_out integer not null,
  -- Sums of the scores of both lists, each by its inverse probability.
  baseline double precision not null,
  candidate double precision not null,
  -- Over sessions, of the differences and of the weights (rules/session-sums.ts).
  sums double precision[] not null,
  primary key (pipeline, shadow, fingerprint, k, day)
);

-- Which variant of the service do users fare better with?
-- A whole day (UTC) of a comparison of variants, as sums over its sessions. Written once: what comes later is left out, so
-- that a verdict rests on what was known when it was said.
create table variant_days (
  pipeline text not null,
  -- Of the tag, the arms with their shares, and the start: another of them begins anew.
  comparison text not null,
  day date not null,
  -- {arm: {sessions, measures: {measure: [sums]}}}
  arms jsonb not null,
  -- Sessions that saw more than one arm, and those with a value that is none; in no sum.
  mixed integer not null,
  unnamed integer not null,
  summed_at timestamptz not null,
  primary key (pipeline, comparison, day)
);
