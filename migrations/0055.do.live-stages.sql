-- What did the stages of the retriever have of a live query? Null where nobody told.
alter table live_queries
  -- [{name, isSide, latencyMs, documents, ranks}, ...] in the order in which they worked; ranks are those of the results.
  add column stages jsonb;

-- What a reranker took, which is the time of a stage.
alter table trace_fragments add column latency_ms double precision;
