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
  people_draw double precision not null,
  is_for_people boolean not null,
  -- [[document id, hash of its text or null], ...], best first.
  documents jsonb not null,
  -- `known`: failed or empty, so that all its scores are 0.
  state text not null check (state in ('open', 'graded', 'known', 'without_text', 'expired')),
  due_at timestamptz not null,
  primary key (pipeline, query_id)
);

create index judged_queries_due on judged_queries (pipeline, due_at) where state = 'open';
create index judged_queries_time on judged_queries (pipeline, received_at);
create index judged_queries_people on judged_queries (pipeline, people_draw, received_at, query_id) where is_for_people;

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
  judge text not null check (judge in ('model', 'person')),
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
