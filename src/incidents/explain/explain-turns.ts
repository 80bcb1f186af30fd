/** Runs explanations within the limits of a retriever. Explanations and golden runs share these limits. */

import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Retriever } from '../../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../../connectors/throttle/throttle.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { retrieverLimitsOf, type WatchedPipeline } from '../../golden/watched-pipeline.ts';

/** Maximum time that an explanation waits for its turn before it is refused. */
const PATIENCE_MS = 30_000;

export type ExplainTurns = ReturnType<typeof createExplainTurns>;

/** Access to one pipeline's retriever within its limits; kept open while explanations run. */
interface Turns {
  readonly gate: Promise<Throttle>;
  free: number;
  users: number;
  readonly freed: EventEmitter;
}

export function createExplainTurns(patienceMs = PATIENCE_MS) {
  const open = new Map<string, Turns>();

  const join = (context: Context, pipeline: WatchedPipeline): Turns => {
    const known = open.get(pipeline.name);
    if (known !== undefined) return known;
    const limits = retrieverLimitsOf(pipeline);
    // The holder name is unique; otherwise, closing one limiter could remove the next limiter of the same pipeline.
    const holder = `explain-${randomUUID().slice(0, 8)}`;
    const gate = openThrottle(context, { pipeline: pipeline.name, holder, ...limits, usualLatencyMs: null });
    // If this promise rejects, every waiting caller receives the error. Without a handler here, Node.js could also
    // report the rejection as unhandled and end the process.
    gate.catch(() => undefined);
    const turns = { gate, free: limits.concurrency, users: 0, freed: new EventEmitter().setMaxListeners(0) };
    open.set(pipeline.name, turns);
    return turns;
  };

  const leave = async (name: string, turns: Turns): Promise<void> => {
    turns.users -= 1;
    if (turns.users > 0) return;
    open.delete(name);
    const gate = await turns.gate.catch(() => null);
    await gate?.close();
  };

  return {
    /**
     * Runs `work` with a retriever that respects the pipeline's concurrency and rate limits. Golden runs and other
     * explanations of this process share these limits. The concurrency limit also applies to `work` itself, so it
     * covers calls to the store and embedder too.
     *
     * @throws RecalldError retriever_busy; the abort reason of `signal`; errors of `work`
     */
    async take<T>(
      context: Context,
      pipeline: WatchedPipeline,
      signal: AbortSignal,
      work: (pipeline: WatchedPipeline) => Promise<T>,
    ): Promise<T> {
      const turns = join(context, pipeline);
      turns.users += 1;
      try {
        await startTurn(turns, patience(pipeline.name, patienceMs, signal));
        try {
          const gate = await turns.gate;
          const enter = () => gate.enter(patience(pipeline.name, patienceMs, signal));
          return await work({ ...pipeline, retriever: throttled(pipeline.retriever, gate, enter) });
        } finally {
          turns.free += 1;
          turns.freed.emit('free');
        }
      } finally {
        await leave(pipeline.name, turns);
      }
    },
  };
}

function patience(pipeline: string, ms: number, signal: AbortSignal): AbortSignal {
  const late = new AbortController();
  const busy = new RecalldError(
    'retriever_busy',
    `The retriever of ${pipeline} has been busy with golden runs and other explanations for ${Math.round(ms / 1000)} s. Try again when the golden run has ended, or raise golden[].concurrency.`,
  );
  setTimeout(() => late.abort(busy), ms).unref();
  return AbortSignal.any([signal, late.signal]);
}

async function startTurn(turns: Turns, signal: AbortSignal): Promise<void> {
  while (turns.free === 0) {
    await once(turns.freed, 'free', { signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  }
  turns.free -= 1;
}

function throttled(retriever: Retriever, gate: Throttle, enter: () => Promise<void>): Retriever {
  return {
    async retrieve(request, signal) {
      await enter();
      let hasFailed = true;
      try {
        const answer = await retriever.retrieve(request, signal);
        hasFailed = answer.kind !== 'documents';
        return answer;
      } finally {
        // Ignores the latency of a deeper search, which takes longer at any load.
        gate.leave(null, hasFailed);
      }
    },
  };
}
