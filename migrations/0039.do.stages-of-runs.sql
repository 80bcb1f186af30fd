-- Which stage of the retriever lost the relevant documents of a golden set? Null where no answer tells of stages.
alter table golden_run_answers
  -- Of each stage the ranks of the judged documents that it had, never its whole list.
  add column stages jsonb;

alter table golden_runs
  -- What its stages kept and lost, with bounds.
  add column stages jsonb;
