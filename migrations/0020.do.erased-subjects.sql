-- Of whom, and about what, may something still come that happened before it was erased?
-- Forgotten when nothing from before the erasure is accepted any more; `erasures` then tells only that there was one.
create table erased_subjects (
  kind text not null check (kind in ('user', 'query', 'trace')),
  -- The keyed hash of a user, else the id.
  subject text not null,
  -- Of a query; empty where it was erased in all pipelines.
  pipeline text not null default '',
  -- The keyed hash of the id of a query: what a review of its text that is imported later is known by.
  subject_hash text,
  erased_at timestamptz not null,
  primary key (kind, subject, pipeline)
);

create index erased_subjects_hash on erased_subjects (subject_hash) where subject_hash is not null;

insert into erased_subjects (kind, subject, subject_hash, erased_at)
select subject, subject_hash, case when subject = 'query' then subject_hash end, max(erased_at)
  from erasures
 group by subject, subject_hash;

alter table erasures drop column subject_hash;
