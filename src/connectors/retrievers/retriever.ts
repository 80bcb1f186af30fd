import { setMaxListeners } from 'node:events';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RetrievedDocument } from '../../core/model.ts';
import type { Embedder } from '../embedders/embedder.ts';
import type { VectorStore } from '../stores/vector-store.ts';

/** What else of its pipeline a retriever may stand on. */
export interface RetrieverParts {
  readonly embedder: Embedder | null;
  readonly store: VectorStore | null;
  readonly logger: Logger;
  /** Whether errors may repeat what the retriever itself says: its messages and the names in its answers. */
  readonly repeatsAnswers: boolean;
}

export interface RetrieverRequest {
  readonly text: string;
  readonly k: number;
  readonly tags: Readonly<Record<string, string>>;
  /** Whether the texts of the documents are needed, as a reranker does. */
  readonly withText?: boolean;
  /** Whether to tell what each stage of the retriever had, where it has stages. */
  readonly withStages?: boolean;
}

/**
 * Results that are kept of an answer to k: with several chunks of a document there are more than k. A longer answer is
 * cut as early as it can be, since each of its results would cost time and memory at every step.
 */
export function keptDepth(k: number): number {
  return Math.min(10_000, Math.max(1000, 10 * k));
}

/** A document as the retriever gave it; the text is there only when it was asked for and the retriever has it. */
export interface FoundDocument extends RetrievedDocument {
  readonly text?: string | null;
}

/** What one stage of a retriever handed on, best first. */
export interface RetrieverStage {
  /** As the config names it, or `candidates`, `words`, `vectors` of retrievers that are built of stages here. */
  readonly name: string;
  /** One of several beside each other, which are joined after it. */
  readonly isSide?: boolean;
  readonly documents: readonly FoundDocument[];
  /** What it took of the time of the whole; left out where nobody tells. */
  readonly latencyMs?: number;
}

/**
 * What one call to a retriever came to. A failure is an outcome and never thrown, because a golden run must count
 * it; `code` is short and stable (`http_500`, `connection_refused`, `not_json`, `no_result_list`, ...), `message`
 * tells the operator more and never holds a secret.
 */
export type RetrieverAnswer =
  | {
      readonly kind: 'documents';
      readonly documents: readonly FoundDocument[];
      /** Those before the last, in order; there only when they were asked for and the retriever has some. */
      readonly stages?: readonly RetrieverStage[];
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
  | {
      readonly kind: 'timeout';
      readonly message: string;
      readonly latencyMs: number;
      readonly attempts: number;
    };

/**
 * Text in, ranked documents out, best first, in the order in which the service returned them.
 *
 * `latencyMs` is that of the last attempt; waiting between attempts is not the retriever's time. A call ends within
 * attempts x (timeout + longest back-off), or at once when `signal` aborts, which rejects with the signal's reason.
 */
export interface Retriever {
  retrieve(request: RetrieverRequest, signal: AbortSignal): Promise<RetrieverAnswer>;
  /** Gives back what the retriever holds open, such as connections or a process; there is none where it holds nothing. */
  close?(): Promise<void>;
}

/**
 * Runs the stages with a signal that also aborts when `timeoutMs` is over, which is a timeout of the whole and no
 * failure of the stage that was at work. Rejects with the reason of `signal`; neither a timer nor a listener stays
 * behind.
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
 * The failure of a stage as that of the retriever: its code stays, and a timeout stays a timeout.
 *
 * @param earlierMs what the stages before it took
 */
export function failureOf(
  { code, message, latencyMs }: { readonly code: string; readonly message: string; readonly latencyMs: number },
  earlierMs = 0,
): RetrieverAnswer {
  const common = { latencyMs: earlierMs + latencyMs, attempts: 1 };
  return code === 'timeout' ? { kind: 'timeout', message, ...common } : { kind: 'error', code, message, ...common };
}

/** Refuses a config made in code; the contract of the config refuses the same in a file, with its place. */
export function missingPart(part: 'vector_store' | 'embedder', configField: string): RecalldError {
  return new RecalldError('config_invalid', `${configField}: it needs the ${part} of its pipeline.`);
}
