-- What did the texts of an answer cost whoever read them, and how much of it was said twice? Null where texts are not given.
alter table live_queries
  -- UTF-16 code units of the texts of all results.
  add column context_characters integer,
  -- Share of their runs of five words that an earlier result of the list had too.
  add column context_repeated double precision;

alter table golden_run_answers
  add column context_characters integer,
  add column context_repeated double precision;
