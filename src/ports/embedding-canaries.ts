/** Vectors of fixed texts, as an embedder gave them when it was first met. */
export interface EmbeddingCanaries {
  /** In the order of the texts; null when the embedder was never met on this pipeline. */
  load(pipeline: string, embedder: string): Promise<readonly Float32Array[] | null>;
  /** Keeps the vectors; those that are there already stay. */
  keep(pipeline: string, embedder: string, vectors: readonly Float32Array[], now: Date): Promise<void>;
  /** Forgets those of a pipeline, so that the next look keeps new ones: the change is accepted. */
  forget(pipeline: string): Promise<void>;
}
