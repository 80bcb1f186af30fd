-- Is a candidate better than what serves users: a retriever that may replace that of a pipeline (a shadow), or a variant of the
-- service that some users see (an arm)?

-- A live query of the sample that a shadow was asked, beside what users got.
create table shadow_answers (
  pipeline text not null,
  shadow text not null,
  -- Of what answered: another index, model or provider under the same name begins anew.
  fingerprint text not null,
  -- `overlap`: a share of all samples. `judged`: queries that were drawn for the judge of live traffic.
  purpose text not null check (purpose in ('overlap', 'judged')),
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
  latency_ms double precision,
  -- Rank-biased overlap with what users got, and whether any document or rank differs; null where either side failed.
  overlap double precision,
  is_changed boolean,
  -- nDCG of the first k of both lists by the grades of one judge; null where a document could not be read or graded.
  k integer check ((k is not null) = (purpose = 'judged')),
  baseline double precision,
  candidate double precision check ((candidate is null) = (baseline is null)),
  primary key (pipeline, shadow, purpose, query_id)
);

create index shadow_answers_asked on shadow_answers (pipeline, shadow, asked_at);
create index shadow_answers_query on shadow_answers (pipeline, query_id);

-- An interim analysis of an experiment: a test of a shadow on a golden set, or a whole day (UTC) of live traffic as sums over its
-- sessions. Written once: a test is never made anew, and what comes later than the sums of a day is left out, so that a verdict
-- rests on what was known when it was given.
create table interim_analyses (
  pipeline text not null,
  -- Name of the shadow; of variants, the tag.
  experiment text not null,
  -- Of what answers, or of the arms with their shares and the start: another of them begins anew.
  fingerprint text not null,
  -- `golden:SET`, `judged@K` or `traffic`.
  series text not null,
  -- Number of the test, from 1; of a day, the days since 1970-01-01.
  place integer not null,
  result jsonb not null,
  analysed_at timestamptz not null,
  primary key (pipeline, experiment, fingerprint, series, place)
);
