/**
 * Limits connections that have not sent a valid key yet, limits pipelined requests, and shuts down in an orderly way.
 * During a shutdown, in-flight requests complete, and new requests are refused, so that clients retry them on another
 * replica.
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../core/logger.ts';
import { validKeyOf } from '../access/pipeline-access.ts';
import { operationPaths, routeOf } from './operations.ts';
import type { MemoryBudget } from './request-bodies.ts';
import { problemOf, RETRY_AFTER_SECONDS, sendProblem } from './wire.ts';

/** Estimated memory per connection: its buffers, the request head, and responses that the client has not read. */
const CONNECTION_BYTES = 128 * 1024;

/** Maximum number of pipelined requests per connection. Clients that use pipelining send only a few at a time. */
const MAX_PIPELINED = 8;

interface Connection {
  /** True until the connection sends a valid key; until then the connection's memory counts against the budget. */
  isKeyless: boolean;
  /** Number of the connection's requests whose responses the client has not read. */
  underWay: number;
  /** Number of the connection's requests that recalld is still processing. */
  inWork: number;
}

/**
 * When connections without a key use too much memory, closes the oldest of them, so that idle connections cannot block
 * others. A connection that is waiting for a response stays open.
 */
export function limitConnections(app: FastifyInstance, budget: MemoryBudget, logger: Logger): void {
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

  /** Closes the connection and returns null if the budget has no room for it. */
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
    // An `error` event occurs, for example, when the operating system cannot allocate a connection. Without a listener,
    // the error would end the process.
    app.server.on('error', (error) => logger.warn('a connection could not be accepted', { reason: error.message }));
    done();
  });

  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    // Fastify opens a second server for the name localhost. Connections to that server become known only here, with
    // their first request.
    const connection = connections.get(socket) ?? (socket.destroyed ? null : admit(socket));
    if (connection === null || connection.underWay >= MAX_PIPELINED) {
      // Sends no more responses to a client that does not read them.
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
      if (validKeyOf(request) !== null) stopCounting(connection);
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
        problemOf('stopping', 'This process is stopping; send the request again, to another replica if there is one.'),
      );
      return;
    }
    underWay += 1;
    // The `close` event also occurs if the caller disconnects before the response is sent.
    reply.raw.on('close', () => {
      underWay -= 1;
      if (underWay === 0) lastEnded?.();
    });
    done();
  });
  return {
    /** Number of in-flight requests, excluding requests to the health and metrics endpoints. */
    get underWay() {
      return underWay;
    },
    /** Refuses new requests, except requests for health and metrics. Resolves when no request is running. */
    async drain(): Promise<void> {
      isRetired = true;
      if (underWay === 0) return;
      await new Promise<void>((resolve) => {
        lastEnded = resolve;
      });
    },
  };
}
