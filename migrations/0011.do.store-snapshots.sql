-- What did each vector store hold, by a uniform sample of it?
create table store_snapshots (
  pipeline text not null,
  taken_at timestamptz not null,
  -- Sampled vectors with a direction.
  vectors integer not null,
  dimensions integer not null,
  -- float64, little-endian: mean of the directions.
  centroid bytea not null,
  mean_length double precision not null,
  -- float32, little-endian: one direction per cluster.
  clusters bytea not null,
  chunk_shares double precision[] not null,
  -- Null while no live query with a vector was there to hold against it.
  query_shares double precision[],
  -- The most typical chunk of each cluster; null for an empty one.
  medoids text[] not null,
  primary key (pipeline, taken_at)
);
