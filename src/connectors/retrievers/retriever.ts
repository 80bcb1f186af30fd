import { setMaxListeners } from 'node:events';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RetrievedDocument } from '../../core/model.ts';
import type { FailedCall } from '../../platform/outbound/json-api.ts';
import type { Embedder } from '../embedders/embedder.ts';
import type { VectorStore } from '../stores/vector-store.ts';

/** The pipeline's other services, which a retriever may use. */
export interface RetrieverParts {
  readonly embedder: Embedder | null;
  readonly store: VectorStore | null;
  readonly logger: Logger;
  /** True if errors may repeat the retriever's own messages and the keys in its responses. */
  readonly repeatsAnswers: boolean;
}

export interface RetrieverRequest {
  readonly text: string;
  readonly k: number;
  readonly tags: Readonly<Record<string, string>>;
  /** True if document texts are needed, for example by a reranker. */
  readonly withText?: boolean;
  /** True to return the results of each stage, if the retriever has stages. */
  readonly withStages?: boolean;
}

/**
 * Maximum number of results to read from a response to a request for k results. The maximum is larger than k, because
 * several chunks may belong to one document. recalld truncates a longer response as early as possible, because each
 * result costs time and memory at every step.
 */
export function keptDepth(k: number): number {
  return Math.min(10_000, Math.max(1000, 10 * k));
}

/**
 * A document as returned by the retriever. The text is present only if it was requested and the retriever returned it.
 */
export interface FoundDocument extends RetrievedDocument {
  readonly text?: string | null;
}

/** Results of one retriever stage, best first. */
export interface RetrieverStage {
  /**
   * Name of the stage in the config. If recalld builds the stage itself, the name is `candidates`, `first_stage`,
   * `words` or `vectors`.
   */
  readonly name: string;
  /** True if this is one of several parallel stages whose results are merged afterwards. */
  readonly isSide?: boolean;
  readonly documents: readonly FoundDocument[];
  /** Duration of the stage; absent if unknown. */
  readonly latencyMs?: number;
}

/**
 * Result of one call to a retriever. A failure is returned and never thrown, because a golden run must count the
 * failure. `code` is short and stable (`http_500`, `connection_refused`, `not_json`, `no_result_list`, ...). `message`
 * gives the operator more details and never contains a secret.
 */
export type RetrieverAnswer = (Reading | { readonly kind: 'timeout'; readonly message: string }) & {
  readonly latencyMs: number;
  readonly attempts: number;
};

/** The documents in a response, or the reason why the response has none. */
export type Reading =
  | {
      readonly kind: 'documents';
      readonly documents: readonly FoundDocument[];
      /** Stages before the last stage, in order; present only if they were requested and the retriever has stages. */
      readonly stages?: readonly RetrieverStage[];
    }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

/**
 * Returns ranked documents for a text, best first, in the order of the service's response.
 *
 * `latencyMs` measures only the last attempt, without waits between attempts. A call takes at most attempts x (timeout
 * + longest back-off). When `signal` aborts, the call rejects immediately with the signal's reason.
 */
export interface Retriever {
  retrieve(request: RetrieverRequest, signal: AbortSignal): Promise<RetrieverAnswer>;
  /** Releases open resources, such as connections or a process; absent if there are none. */
  close?(): Promise<void>;
}

/**
 * Runs the stages with a signal that also aborts after `timeoutMs`. Reports a timeout of the whole retriever, not a
 * failure of the running stage. If `signal` aborts, rejects with `signal.reason`. Always removes its timer and its
 * listener.
 */
export async function withinDeadline(
  timeoutMs: number,
  signal: AbortSignal,
  stages: (signal: AbortSignal) => Promise<RetrieverAnswer>,
): Promise<RetrieverAnswer> {
  signal.throwIfAborted();
  setMaxListeners(0, signal);
  const startedMs = performance.now();
  const inner = new AbortController();
  const overdue = new Error(`the stages took more than ${timeoutMs} ms`);
  const timer = setTimeout(() => inner.abort(overdue), timeoutMs);
  const stop = () => inner.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await stages(inner.signal);
  } catch (error) {
    if (error !== overdue) throw error;
    const message = `The retriever did not respond within ${timeoutMs} ms.`;
    return { kind: 'timeout', message, latencyMs: performance.now() - startedMs, attempts: 1 };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Converts a stage failure into a retriever failure with the same code; a timeout remains a timeout.
 *
 * @param earlierMs duration of the earlier stages
 */
export function failureOf({ code, message, latencyMs }: Omit<FailedCall, 'kind'>, earlierMs = 0): RetrieverAnswer {
  const common = { latencyMs: earlierMs + latencyMs, attempts: 1 };
  return code === 'timeout' ? { kind: 'timeout', message, ...common } : { kind: 'error', code, message, ...common };
}

/**
 * Returns the error for a config that was built in code and lacks a required vector store or embedder. In a config
 * file, the schema reports the same problem with its position.
 */
export function missingPart(part: 'vector_store' | 'embedder', configField: string): RecalldError {
  return new RecalldError(
    'config_invalid',
    `${configField}: this retriever requires ${part}; add ${part} to the pipeline.`,
  );
}
