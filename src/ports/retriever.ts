import type { RetrievedDocument } from '../core/model.ts';

export interface RetrieverRequest {
  readonly text: string;
  readonly k: number;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * What one call to a retriever came to. A failure is an outcome and never thrown, because a golden run must count
 * it; `code` is short and stable (`http_500`, `connection_refused`, `not_json`, `no_result_list`, ...), `message`
 * tells the operator more and never holds a secret.
 */
export type RetrieverAnswer =
  | {
      readonly kind: 'documents';
      readonly documents: readonly RetrievedDocument[];
      readonly latencyMs: number;
      readonly attempts: number;
    }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      readonly latencyMs: number;
      readonly attempts: number;
    }
  | { readonly kind: 'timeout'; readonly latencyMs: number; readonly attempts: number };

/**
 * Text in, ranked documents out, best first, in the order in which the service returned them.
 *
 * `latencyMs` is that of the last attempt; waiting between attempts is not the retriever's time. A call ends within
 * attempts x (timeout + longest back-off), or at once when `signal` aborts, which rejects with the signal's reason.
 */
export interface Retriever {
  retrieve(request: RetrieverRequest, signal: AbortSignal): Promise<RetrieverAnswer>;
}
