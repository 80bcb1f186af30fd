-- Live queries sampled for judging, their grades, and the costs. First: when a pipeline's last sampling round ended,
-- and the number of queries not sampled because of their cost.
create table judging_rounds (
  pipeline text primary key,
  started_at timestamptz not null,
  drawn_until timestamptz not null,
  unaffordable double precision not null default 0
);

create table judged_queries (
  pipeline text not null,
  query_id text not null,
  received_on date not null,
  received_at timestamptz not null,
  -- Sampling draw of the query's session, which identifies the cluster.
  cluster double precision not null,
  outcome text not null,
  segments jsonb not null,
  -- Probability of being stored and selected for judging.
  probability double precision not null check (probability > 0 and probability <= 1),
  -- The session's draw for human judgments. Queries below the human share are graded by people, in this order.
  human_draw double precision not null,
  needs_human boolean not null,
  -- [[document id, hash of its text or null], ...], best first.
  documents jsonb not null,
  -- `known`: failed or empty, so that all its scores are 0.
  state text not null check (state in ('open', 'graded', 'known', 'without_text', 'expired')),
  due_at timestamptz not null,
  -- Probability of being stored, selected and compared with shadows; null if the query is not compared.
  shadow_probability double precision check (shadow_probability > 0 and shadow_probability <= 1),
  -- When the query's scores were sent to the tracing platform; null if they were not sent.
  evaluation_sent_at timestamptz,
  -- True if a second person grades the query independently.
  needs_second_human boolean not null default false,
  primary key (pipeline, query_id)
);

create index judged_queries_due on judged_queries (pipeline, due_at) where state = 'open';
create index judged_queries_time on judged_queries (pipeline, received_at);
create index judged_queries_human on judged_queries (pipeline, human_draw, received_at, query_id) where needs_human;

-- Document texts at the time of grading.
create table judged_documents (
  pipeline text not null,
  content_hash text not null,
  content text not null,
  seen_at timestamptz not null,
  primary key (pipeline, content_hash)
);

create table judgments (
  pipeline text not null,
  query_id text not null,
  document_id text not null,
  -- `second`: grades from a second person, which the estimates do not use.
  judge text not null check (judge in ('model', 'person', 'second')),
  -- Null if the judge returned no grade, with the problem.
  grade smallint check (grade between 0 and 3),
  problem text,
  -- True if a text addresses the judge (possible prompt injection).
  is_flagged boolean not null default false,
  -- Identify the texts and the model behind a grade, so that no grade is paid for twice.
  text_hash text,
  content_hash text,
  fingerprint text,
  judged_at timestamptz not null,
  -- Name of the person; null for model grades.
  graded_by text,
  primary key (pipeline, query_id, document_id, judge),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((grade is null) = (problem is not null))
);

create index judgments_cache on judgments (text_hash, content_hash, fingerprint) where judge = 'model';

-- US dollars by day (UTC): actual costs, and reservations for calls in flight.
create table judge_spending (
  pipeline text not null,
  day date not null,
  dollars double precision not null,
  primary key (pipeline, day)
);

create table judge_panels (
  pipeline text primary key,
  -- Configured judge.
  fingerprint text not null,
  -- Number of changes detected under this config, and when the last was detected.
  changes integer not null default 0,
  changed_at timestamptz,
  -- Since when the judge has graded as it does now.
  since timestamptz not null,
  -- Last day (UTC) whose grades were compared with the first grades.
  judged_on date
);

-- Query-document pairs that the judge grades again every day.
create table judge_panel_pairs (
  pipeline text not null,
  query_id text not null,
  document_id text not null,
  content_hash text not null,
  joined_on date not null,
  -- First grade, first repeated grade, and latest grade; 0 if the judge returned none, as in the scores.
  first_grade smallint not null check (first_grade between 0 and 3),
  repeat_grade smallint check (repeat_grade between 0 and 3),
  grade smallint not null check (grade between 0 and 3),
  -- Day (UTC) of the last grade.
  graded_on date not null,
  leased_until timestamptz,
  primary key (pipeline, query_id, document_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade
);

-- Judgment pools, which show whether the store has better documents than users got: sampled live queries for which the
-- nearest chunks in the store are graded too, for the ideal order in nDCG.
create table judgment_pools (
  pipeline text not null,
  query_id text not null,
  -- Probability of being stored, selected and pooled.
  probability double precision not null check (probability > 0 and probability <= 1),
  -- `ungraded`: the store could not be searched, or a document has no grade.
  state text not null check (state in ('open', 'graded', 'ungraded', 'expired')),
  due_at timestamptz not null,
  -- Judge; number of graded documents that users got; number of chunks requested from the store.
  fingerprint text,
  k integer,
  searched integer,
  -- nDCG of the documents that users got: with an ideal order of only these documents, and with an ideal order that
  -- includes the pooled documents.
  shown double precision,
  pooled double precision,
  primary key (pipeline, query_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((state = 'graded') = (num_nulls(fingerprint, k, searched, shown, pooled) = 0))
);

create index judgment_pools_due on judgment_pools (pipeline, due_at) where state = 'open';

-- Turns of agents that are graded as a whole against what the user asked. The query is the first retrieval of the turn.
create table judged_episodes (
  pipeline text not null,
  query_id text not null,
  -- Probability of being stored, selected and graded as a whole.
  probability double precision not null check (probability > 0 and probability <= 1),
  -- `ungraded`: the turn was erased, or a document has no grade.
  state text not null check (state in ('open', 'graded', 'ungraded', 'expired')),
  due_at timestamptz not null,
  -- Judge, and number of graded documents per retrieval.
  fingerprint text,
  k integer,
  -- True if some retrieval returned an answer.
  is_hit boolean,
  -- nDCG of the first query and of the original text; null if the first query was not rewritten.
  rewritten double precision,
  original double precision,
  primary key (pipeline, query_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((state = 'graded') = (is_hit is not null)),
  check ((rewritten is null) = (original is null))
);

create index judged_episodes_due on judged_episodes (pipeline, due_at) where state = 'open';

-- Grades of documents that users did not get, from shadows, pooling and turns of agents.
create table pool_judgments (
  pipeline text not null,
  query_id text not null,
  text_hash text not null,
  content_hash text not null,
  -- Judge.
  fingerprint text not null,
  grade smallint not null check (grade between 0 and 3),
  is_flagged boolean not null,
  judged_at timestamptz not null,
  -- The text hash tells a grade against the query from a grade against what the user asked.
  primary key (pipeline, query_id, text_hash, content_hash, fingerprint)
);

create index pool_judgments_cache on pool_judgments (text_hash, content_hash, fingerprint);
