-- Which questions, with which relevant documents, is a pipeline measured by? A version never changes.
create table golden_sets (
  name text not null,
  version integer not null,
  content_hash text not null,
  format text not null,
  imported_at timestamptz not null,
  queries integer not null,
  judgments integer not null,
  primary key (name, version)
);

create table golden_queries (
  golden_set text not null,
  version integer not null,
  query_id text not null,
  position integer not null,
  text text not null,
  tags jsonb not null,
  primary key (golden_set, version, query_id),
  foreign key (golden_set, version) references golden_sets (name, version)
);

create table golden_judgments (
  golden_set text not null,
  version integer not null,
  query_id text not null,
  document_id text not null,
  grade integer not null check (grade >= 0),
  primary key (golden_set, version, query_id, document_id),
  foreign key (golden_set, version, query_id) references golden_queries (golden_set, version, query_id)
);
