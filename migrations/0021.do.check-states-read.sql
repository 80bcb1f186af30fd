-- What do readers need to tell a check that still stands from one that nobody can speak for any more?
alter table check_states
  -- When what was last said of it was found; null when nothing was.
  add column judged_at timestamptz,
  -- From then on it is too old to trust; null: never.
  add column trusted_until timestamptz,
  -- Null when nothing has judged it yet.
  alter column explanation drop not null;

-- Until each is evaluated anew, within a minute.
update check_states set judged_at = evaluated_at, trusted_until = evaluated_at + interval '15 minutes';
