-- What people did: who, when, and what was before and after. Holds no id of a user or of a live query.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  by text not null,
  act text not null,
  pipeline text,
  subject text not null,
  before jsonb,
  after jsonb
);

create index audit_log_at on audit_log (at);

-- Erasures are acts like others.
insert into audit_log (at, by, act, subject, before)
select erased_at, 'not recorded then', 'erase', subject,
       jsonb_build_object('queries', queries, 'feedback', feedback, 'golden_queries', golden_queries)
  from erasures order by id;

drop table erasures;
