/** What retrievers that are made of more than one service have in common. */
import { setMaxListeners } from 'node:events';
import type { RetrieverAnswer } from './retriever.ts';

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
    return { kind: 'timeout', latencyMs: performance.now() - startedMs, attempts: 1 };
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
  {
    code,
    message,
    latencyMs,
  }: { readonly code: string; readonly message: string; readonly latencyMs: number },
  earlierMs = 0,
): RetrieverAnswer {
  const common = { latencyMs: earlierMs + latencyMs, attempts: 1 };
  return code === 'timeout' ? { kind: 'timeout', ...common } : { kind: 'error', code, message, ...common };
}
