-- Experiments, which compare a candidate with what serves users: a retriever that may replace a pipeline's retriever (a
-- shadow), or a variant of the service that some users see (an arm).

-- A sampled live query that was also sent to a shadow, with the results that users got.
create table shadow_answers (
  pipeline text not null,
  shadow text not null,
  -- Fingerprint of the shadow: another index, model or provider under the same name starts over.
  fingerprint text not null,
  -- `overlap`: a share of all samples. `judged`: queries that were selected for the judge of live traffic.
  purpose text not null check (purpose in ('overlap', 'judged')),
  query_id text not null,
  received_at timestamptz not null,
  asked_at timestamptz not null,
  -- The session's draw, which identifies what was sampled together.
  cluster double precision not null,
  -- Probability of being stored and sent.
  probability double precision not null check (probability > 0 and probability <= 1),
  outcome text not null check (outcome in ('ok', 'empty', 'error', 'timeout')),
  -- Documents, best first.
  document_ids text[] not null,
  latency_ms double precision,
  -- Rank-biased overlap with what users got, and whether any document or rank differs; null if either side failed.
  overlap double precision,
  is_changed boolean,
  -- nDCG of the first k documents in both lists by one judge's grades; null if a document could not be read or graded.
  k integer check ((k is not null) = (purpose = 'judged')),
  baseline double precision,
  candidate double precision check ((candidate is null) = (baseline is null)),
  primary key (pipeline, shadow, purpose, query_id)
);

create index shadow_answers_asked on shadow_answers (pipeline, shadow, asked_at);
create index shadow_answers_query on shadow_answers (pipeline, query_id);

-- An interim analysis of an experiment: a test of a shadow on a golden set, or a whole day (UTC) of live traffic as
-- sums over its sessions. Written once: a test is never repeated, and data that arrives after a day's sums is excluded,
-- so that a verdict rests on what was known at the time.
create table interim_analyses (
  pipeline text not null,
  -- Name of the shadow; for variants, the tag.
  experiment text not null,
  -- Fingerprint of the candidate, or the arms with their shares and the start; a different value starts over.
  fingerprint text not null,
  -- `golden:SET`, `judged@K` or `traffic`.
  series text not null,
  -- Number of the test, from 1; for a day, the days since 1970-01-01.
  place integer not null,
  result jsonb not null,
  analysed_at timestamptz not null,
  primary key (pipeline, experiment, fingerprint, series, place)
);
