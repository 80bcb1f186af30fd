-- Do two people grade a live query alike?
alter table judged_queries
  -- Of those for people, the ones that a second person is to grade too.
  add column is_for_two boolean not null default false;

alter table judgments
  -- By what name people are told apart; null for what a model gave, and for grades from before.
  add column graded_by text;
alter table judgments drop constraint judgments_judge_check;
-- `second`: of a second person, of whom the estimates know nothing.
alter table judgments add constraint judgments_judge_check check (judge in ('model', 'person', 'second'));
