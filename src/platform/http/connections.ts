/**
 * What a connection may cost before somebody has shown a key on it, how much of it may be under way at once, and the end
 * of an API in order: what has begun comes to its end, and what comes now is sent to another replica.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../core/logger.ts';
import { hasGoodKey } from '../access/authentication.ts';
import { operationPaths, routeOf } from './operations.ts';
import type { MemoryBudget } from './request-bodies.ts';
import { problemOf, RETRY_AFTER_SECONDS, sendProblem } from './wire.ts';

/** Its buffers, the head of a request, and answers that are not taken. */
const CONNECTION_BYTES = 128 * 1024;

/** Requests that are sent without waiting for answers. Clients that do so at all send a few. */
const MAX_PIPELINED = 8;

interface Connection {
  /** Counted in the budget until a key is shown. */
  isKeyless: boolean;
  /** Requests whose answers are not taken. */
  underWay: number;
  /** Those of them whose answers are not made. */
  inWork: number;
}

/**
 * Closes the connection that has waited longest when those without a key hold too much, so that nobody keeps others out
 * by holding connections. One that waits for us is spared.
 */
export function limitConnections(app: FastifyInstance, budget: MemoryBudget, logger: Logger): void {
  /** The oldest first. */
  const connections = new Map<Socket, Connection>();

  const stopCounting = (connection: Connection): void => {
    if (connection.isKeyless) budget.giveBack(CONNECTION_BYTES, true);
    connection.isKeyless = false;
  };

  const closeOldest = (): boolean => {
    for (const [socket, connection] of connections) {
      if (!connection.isKeyless || connection.inWork > 0) continue;
      stopCounting(connection);
      connections.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  };

  /** Null when there is no room for it; then it is closed. */
  const admit = (socket: Socket): Connection | null => {
    while (budget.take(CONNECTION_BYTES, true) !== 'taken') {
      if (closeOldest()) continue;
      socket.destroy();
      return null;
    }
    const connection: Connection = { isKeyless: true, underWay: 0, inWork: 0 };
    connections.set(socket, connection);
    socket.once('close', () => {
      stopCounting(connection);
      connections.delete(socket);
    });
    return connection;
  };

  app.server.on('connection', admit);
  app.addHook('onListen', (done) => {
    // Such as a connection that the system has no room for; without a listener it would end the process.
    app.server.on('error', (error) => logger.warn('a connection could not be taken', { reason: error.message }));
    done();
  });

  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    // Under the name localhost there is a second server, whose connections are first met here.
    const connection = connections.get(socket) ?? (socket.destroyed ? null : admit(socket));
    if (connection === null || connection.underWay >= MAX_PIPELINED) {
      // Who does not read gets no answer.
      reply.hijack();
      socket.destroy();
      return;
    }
    connection.underWay += 1;
    connection.inWork += 1;
    reply.raw.on('close', () => {
      connection.underWay -= 1;
    });
    done();
  });

  app.addHook('onSend', (request, _reply, _payload, done) => {
    const connection = connections.get(request.raw.socket);
    if (connection !== undefined) {
      connection.inWork = Math.max(0, connection.inWork - 1);
      if (hasGoodKey(request)) stopCounting(connection);
    }
    done();
  });
}

export type Draining = ReturnType<typeof addRetirement>;

export function addRetirement(app: FastifyInstance) {
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
    /** Requests that have begun and not ended; health and metrics do not count. */
    get underWay() {
      return underWay;
    },
    /** Refuses requests from now on, save health and metrics, and resolves when none is under way. */
    async drain(): Promise<void> {
      isRetired = true;
      if (underWay === 0) return;
      await new Promise<void>((resolve) => {
        lastEnded = resolve;
      });
    },
  };
}
