/** The end of an API in order: what has begun comes to its end, and what comes now is sent to another replica. */
import type { FastifyInstance } from 'fastify';
import { operationPaths, routeOf } from './operations.ts';
import { problemOf, RETRY_AFTER_SECONDS, sendProblem } from './problem.ts';

export interface Draining {
  /** Requests that have begun and not ended; health and metrics do not count. */
  readonly underWay: number;
  /** Refuses requests from now on, save health and metrics, and resolves when none is under way. */
  drain(): Promise<void>;
}

export function addRetirement(app: FastifyInstance): Draining {
  let underWay = 0;
  let isRetired = false;
  let lastEnded: (() => void) | null = null;
  app.addHook('onRequest', (request, reply, done) => {
    if (operationPaths.has(routeOf(request))) return done();
    if (isRetired) {
      reply.header('retry-after', RETRY_AFTER_SECONDS).header('connection', 'close');
      sendProblem(
        reply,
        problemOf('stopping', 'This process is stopping; send it again, to another one where there is one.'),
      );
      return;
    }
    underWay += 1;
    // Also when the caller goes away before the answer.
    reply.raw.on('close', () => {
      underWay -= 1;
      if (underWay === 0) lastEnded?.();
    });
    done();
  });
  return {
    get underWay() {
      return underWay;
    },
    async drain() {
      isRetired = true;
      if (underWay === 0) return;
      await new Promise<void>((resolve) => {
        lastEnded = resolve;
      });
    },
  };
}
