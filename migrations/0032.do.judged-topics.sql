-- Of the queries of an uncovered topic that were judged: how many, and which share of their documents held an answer.
alter table uncovered_topics
  add column judged_queries integer not null default 0,
  add column relevant_share double precision;
