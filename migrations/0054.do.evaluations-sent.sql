-- Which judged live queries does the tracing platform know the scores of? Null: none were sent.
alter table judged_queries add column evaluation_sent_at timestamptz;
