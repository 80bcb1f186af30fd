-- The score of a query is made of its nearest chunk and its vector when it is read. The column stays for one version back.
comment on column query_coverage.score is 'Not read or written since the nearest chunk counts, the first of "nearest".';
