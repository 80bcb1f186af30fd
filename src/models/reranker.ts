export interface RerankCandidate {
  readonly id: string;
  readonly text: string;
}

/** A failure is an outcome and never thrown; see RetrieverAnswer for what `code` and `message` are. */
export type RerankerAnswer =
  | {
      readonly kind: 'ranking';
      /** Every candidate that the service scored, best first. */
      readonly documents: readonly { readonly id: string; readonly score: number }[];
      readonly latencyMs: number;
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly latencyMs: number };

/** Query and candidate texts in, the candidates by relevance out. */
export interface Reranker {
  rerank(
    request: { readonly text: string; readonly candidates: readonly RerankCandidate[]; readonly k: number },
    signal: AbortSignal,
  ): Promise<RerankerAnswer>;
  /** Gives connections back; there is none where none are held. */
  close?(): Promise<void>;
}
