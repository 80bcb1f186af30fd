/** A judged document with the text that it had. */
export interface SeenDocument {
  readonly documentId: string;
  readonly content: string;
}

/**
 * What the judged documents of a pipeline said while they were in its store, so that a document that was cut anew can
 * be found again. A text longer than 20,000 characters is kept up to there.
 */
export interface GoldenDocuments {
  /** Stores texts; a document that is there gets the newer one. */
  record(pipeline: string, documents: readonly SeenDocument[], now: Date): Promise<void>;
  /** The texts of those of the documents that were seen, by id. */
  texts(pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
