-- Is what a shadow brings as relevant as what users got, as the judge of live traffic grades both?

alter table judged_queries
  -- Chance of being kept, drawn and held beside shadows; null where it is not.
  add column shadow_probability double precision check (shadow_probability > 0 and shadow_probability <= 1);

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

-- Grades of what shadows brought, so that none is paid for twice.
create table shadow_grades (
  pipeline text not null,
  query_id text not null,
  text_hash text not null,
  content_hash text not null,
  -- Of the judge.
  fingerprint text not null,
  grade smallint not null check (grade between 0 and 3),
  is_flagged boolean not null,
  judged_at timestamptz not null,
  primary key (pipeline, query_id, content_hash, fingerprint)
);

create index shadow_grades_cache on shadow_grades (text_hash, content_hash, fingerprint);

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
