/**
 * What a call to an embedding model came to. A failure is an outcome and never thrown; `code` is short and stable,
 * `message` names service, call and the way out, and holds no secret and no text.
 */
export type EmbedderAnswer =
  | {
      readonly kind: 'vectors';
      /** One for each text, in the order of the texts. */
      readonly vectors: readonly Float32Array[];
      readonly latencyMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly latencyMs: number;
    };

/** Text in, vectors out, all of one length. */
export interface Embedder {
  /** Kind of API, model and requested dimension in a line: another one means other vectors. */
  readonly identity: string;
  /** Splits what is too much for one request; fails as a whole. Rejects only with the reason of `signal`. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbedderAnswer>;
  /** Gives connections back; there is none where none are held. */
  close?(): Promise<void>;
}
