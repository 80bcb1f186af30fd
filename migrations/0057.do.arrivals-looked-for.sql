-- Between which two looks did a change of a document arrive in the store?

-- When it was last looked for in vain; null where the first look found it.
alter table index_arrivals add column absent_at timestamptz;
update index_arrivals set absent_at = looked_at where not has_arrived and looked_at > updated_at;
