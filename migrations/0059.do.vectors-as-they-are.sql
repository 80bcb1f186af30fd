-- Vectors of models do not compress, and to try takes time with every row that is kept.
alter table live_queries alter column embedding set storage external;
alter table query_coverage alter column embedding set storage external;
alter table trace_fragments alter column embedding set storage external;
alter table density_baseline_queries alter column vector set storage external;
