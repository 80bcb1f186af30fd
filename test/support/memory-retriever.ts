/** A retriever that answers as scripted, and records its requests and their concurrency. */

import type { Retriever, RetrieverAnswer, RetrieverRequest } from '../../src/connectors/retrievers/retriever.ts';
import type { Clock } from '../../src/core/time.ts';
import { documents } from './builders.ts';

export type Reply = 'empty' | 'error' | 'timeout' | readonly string[];

export interface Asked {
  readonly request: RetrieverRequest;
  readonly atMs: number;
}

export class MemoryRetriever implements Retriever {
  readonly asked: Asked[] = [];
  mostAtOnce = 0;
  #inFlight = 0;
  readonly #clock: Clock;
  readonly #latencyMs: number;
  readonly #reply: (request: RetrieverRequest, index: number) => Reply;

  /** @param reply receives the request and the number of earlier requests; may return a list of ids, best first */
  constructor(clock: Clock, reply: (request: RetrieverRequest, index: number) => Reply, latencyMs = 10) {
    this.#clock = clock;
    this.#reply = reply;
    this.#latencyMs = latencyMs;
  }

  get texts(): string[] {
    return this.asked.map(({ request }) => request.text);
  }

  async retrieve(request: RetrieverRequest, signal: AbortSignal): Promise<RetrieverAnswer> {
    const reply = this.#reply(request, this.asked.length);
    this.asked.push({ request, atMs: this.#clock.monotonicMs() });
    this.#inFlight += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#inFlight);
    try {
      await this.#clock.sleep(this.#latencyMs, signal);
    } finally {
      this.#inFlight -= 1;
    }
    const common = { latencyMs: this.#latencyMs, attempts: 1 };
    if (reply === 'timeout') return { kind: 'timeout', message: 'It did not respond in time.', ...common };
    if (reply === 'error') return { kind: 'error', code: 'http_500', message: 'it returned 500', ...common };
    return { kind: 'documents', documents: reply === 'empty' ? [] : documents(...reply), ...common };
  }
}
