-- Which live queries were drawn to be judged, what was graded, and what did it cost?
-- Until when the kept live queries of a pipeline were drawn from, and how many more would have been but for their cost.
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
  -- The draw of its session, which names what was drawn together.
  cluster double precision not null,
  outcome text not null,
  segments jsonb not null,
  -- Chance of being kept and drawn.
  probability double precision not null check (probability > 0 and probability <= 1),
  -- The draw of the session for people; those below their share are theirs, in this order.
  human_draw double precision not null,
  needs_human boolean not null,
  -- [[document id, hash of its text or null], ...], best first.
  documents jsonb not null,
  -- `known`: failed or empty, so that all its scores are 0.
  state text not null check (state in ('open', 'graded', 'known', 'without_text', 'expired')),
  due_at timestamptz not null,
  -- Chance of being kept, drawn and held beside shadows; null where it is not.
  shadow_probability double precision check (shadow_probability > 0 and shadow_probability <= 1),
  -- Which judged live queries does the tracing platform know the scores of? Null: none were sent.
  evaluation_sent_at timestamptz,
  -- Of those for people, the ones that a second person is to grade too.
  needs_second_human boolean not null default false,
  primary key (pipeline, query_id)
);

create index judged_queries_due on judged_queries (pipeline, due_at) where state = 'open';
create index judged_queries_time on judged_queries (pipeline, received_at);
create index judged_queries_human on judged_queries (pipeline, human_draw, received_at, query_id) where needs_human;

-- What the documents said when they were given.
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
  -- `second`: of a second person, of whom the estimates know nothing.
  judge text not null check (judge in ('model', 'person', 'second')),
  -- Null where the judge gave none, with the problem.
  grade smallint check (grade between 0 and 3),
  problem text,
  -- Something in the texts spoke to the judge.
  is_flagged boolean not null default false,
  -- What a grade of the model is of, so that none is paid for twice.
  text_hash text,
  content_hash text,
  fingerprint text,
  judged_at timestamptz not null,
  -- By what name people are told apart; null for what a model gave, and for grades from before.
  graded_by text,
  primary key (pipeline, query_id, document_id, judge),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((grade is null) = (problem is not null))
);

create index judgments_cache on judgments (text_hash, content_hash, fingerprint) where judge = 'model';

-- US dollars by day (UTC): what was spent, and what calls under way may come to at most.
create table judge_spending (
  pipeline text not null,
  day date not null,
  dollars double precision not null,
  primary key (pipeline, day)
);

create table judge_panels (
  pipeline text primary key,
  -- What grades, by the config.
  fingerprint text not null,
  -- How often it was seen to grade otherwise since, and when last.
  changes integer not null default 0,
  changed_at timestamptz,
  -- Since when it grades as it does.
  since timestamptz not null,
  -- The last day (UTC) whose grades were held against the first ones.
  judged_on date
);

-- Pairs of a query and a document that the judge grades again every day.
create table judge_panel_pairs (
  pipeline text not null,
  query_id text not null,
  document_id text not null,
  content_hash text not null,
  joined_on date not null,
  -- Grades at first, when it was first asked again, and at last; 0 where it gave none, as in the scores.
  first_grade smallint not null check (first_grade between 0 and 3),
  repeat_grade smallint check (repeat_grade between 0 and 3),
  grade smallint not null check (grade between 0 and 3),
  -- The day (UTC) of the last grade.
  graded_on date not null,
  leased_until timestamptz,
  primary key (pipeline, query_id, document_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade
);

-- Does the store hold better documents than users got?
-- Drawn live queries of which the store is searched deeper than users saw, so that the ideal order of nDCG knows of more.
create table judgment_pools (
  pipeline text not null,
  query_id text not null,
  -- Chance of being kept, drawn and searched deeper.
  probability double precision not null check (probability > 0 and probability <= 1),
  -- `ungraded`: it could not be searched, or a document of either part was not graded.
  state text not null check (state in ('open', 'graded', 'ungraded', 'expired')),
  due_at timestamptz not null,
  -- Of the judge; documents of users that were graded, and chunks that were asked of the store.
  fingerprint text,
  k integer,
  searched integer,
  -- nDCG of what users got, with the ideal order of these documents alone, and of these and the deeper ones.
  shown double precision,
  pooled double precision,
  primary key (pipeline, query_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((state = 'graded') = (num_nulls(fingerprint, k, searched, shown, pooled) = 0))
);

create index judgment_pools_due on judgment_pools (pipeline, due_at) where state = 'open';

-- Of documents that users did not get: what shadows brought, and what the deeper search did.
create table pool_judgments (
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

create index pool_judgments_cache on pool_judgments (text_hash, content_hash, fingerprint);
