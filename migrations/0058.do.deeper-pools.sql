-- Does the store hold better documents than users got?

-- Drawn live queries of which the store is searched deeper than users saw, so that the ideal order of nDCG knows of more.
create table deeper_pools (
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
  deeper double precision,
  primary key (pipeline, query_id),
  foreign key (pipeline, query_id) references judged_queries on delete cascade,
  check ((state = 'graded') = (num_nulls(fingerprint, k, searched, shown, deeper) = 0))
);

create index deeper_pools_due on deeper_pools (pipeline, due_at) where state = 'open';

-- Of documents that users did not get: what shadows brought, and what the deeper search did.
alter table shadow_grades rename to unshown_grades;
alter index shadow_grades_cache rename to unshown_grades_cache;
alter index shadow_grades_pkey rename to unshown_grades_pkey;
alter table unshown_grades rename constraint shadow_grades_grade_check to unshown_grades_grade_check;
