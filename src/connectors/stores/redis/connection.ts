/** A Redis connection that opens with the first command and reopens after it breaks. */
import { Command, Redis } from 'ioredis';
import { RecalldError } from '../../../core/errors.ts';
import { classifyConnectionFailure } from '../../../platform/outbound/exchange.ts';
import { orAborted } from '../../../platform/threads/wait.ts';
import type { StoreConfigOf } from '../config.ts';
import { type Attempt, failed, failureCode, Refused, unsupported } from '../store-rows.ts';

/** A RESP2 reply. Strings are returned as bytes, because vectors and ids may contain any byte. */
export type Reply = Buffer | number | null | readonly Reply[];

export interface RedisCommand {
  readonly name: string;
  readonly args: readonly (string | number | Buffer)[];
  /** The Redis version that introduced the command, followed by the command, such as `Redis 8.4 (VRANGE)`. */
  readonly needs: string;
}

/** Maximum time to wait for an unresponsive server to close its side of the connection. */
const MAX_GOODBYE_MS = 1000;

/** @throws RecalldError config_invalid for anything other than an absolute redis or rediss URL */
export function createRedisConnection(
  { url, timeout_ms: timeoutMs }: StoreConfigOf<'redis_search' | 'redis_vector_set'>,
  configField: string,
) {
  const label = labelOf(url, configField);
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    disconnectTimeout: Math.min(timeoutMs, MAX_GOODBYE_MS),
    maxRetriesPerRequest: 0,
    // The next command reopens a broken connection; ioredis must not reconnect on its own.
    retryStrategy: () => null,
    enableReadyCheck: false,
    disableClientInfo: true,
    protocol: 2,
  });
  let lastError: unknown;
  redis.on('error', (error) => {
    lastError = error;
  });
  let opening: Promise<void> | undefined;
  let closed = false;
  let isLeaving = false;
  const leave = (): void => {
    isLeaving = true;
    redis.disconnect();
  };
  const open = async (): Promise<void> => {
    // The status does not change until the connection has closed.
    if (redis.status === 'ready' && !isLeaving) return;
    opening ??= connect(redis, () => {
      if (closed) throw new Error('the store was closed');
      lastError = undefined;
      isLeaving = false;
    }).finally(() => {
      opening = undefined;
    });
    await opening;
  };
  const timedOut = (purpose: string, limitMs: number): Refused => {
    const fix = `raise ${configField}.timeout_ms or check the server's load`;
    return failed('timeout', `Redis ${purpose} failed: ${label} did not respond within ${limitMs} ms; ${fix}.`);
  };
  /** The text of the reply is never shown, because it may repeat an argument. */
  const refusalOfReply = (reply: string, purpose: string, { name: command, needs }: RedisCommand): Refused => {
    const start = `Redis ${purpose} failed: ${label}`;
    if (/unknown command/i.test(reply)) {
      return unsupported(`A ${purpose} requires ${needs}, but ${label} does not support ${command}.`);
    }
    if (/^(NOAUTH|WRONGPASS)|invalid password|without any password|DENIED/i.test(reply)) {
      return failed('auth_failed', `${start} rejects the user or the password; check ${configField}.url.`);
    }
    if (reply.startsWith('NOPERM')) {
      return failed('no_permission', `${start} does not let this user run ${command}; grant this command or +@read.`);
    }
    if (/unknown index|no such index|index not found/i.test(reply)) {
      return failed('collection_missing', `${start} has no such index; check ${configField}.index.`);
    }
    if (/^WRONGTYPE|wrong (type|kind) of value/i.test(reply)) {
      return failed('wrong_type', `${start} stores a value of the wrong type under the key; check ${configField}.`);
    }
    if (/^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT)/.test(reply)) {
      return failed(
        'cluster',
        `${start} is a cluster node that does not have the key; set ${configField}.url to the node that has it.`,
      );
    }
    if (/^(LOADING|BUSY|TRYAGAIN|OOM|MASTERDOWN)/.test(reply)) {
      return failed('busy', `${start} is busy or loading its data; try again later.`);
    }
    return failed('request_refused', `${start} refused ${command}; check ${configField} and the fields in filters.`);
  };
  const refused = (error: unknown, purpose: string, command: RedisCommand, limitMs: number): Refused => {
    // After a failed connection attempt, only the `error` event contains the reason.
    const cause = isReplyError(error) || lastError === undefined ? error : lastError;
    if (isReplyError(cause)) return refusalOfReply(cause.message, purpose, command);
    if (error instanceof Error && error.message === 'Command timed out') return timedOut(purpose, limitMs);
    const { code, problem } = classifyConnectionFailure(cause);
    if (code === 'timeout') return timedOut(purpose, limitMs);
    const isBroken = code === 'connection_failed';
    return failed(
      isBroken ? 'connection_reset' : code,
      `Redis ${purpose} failed: ${label} ${isBroken ? 'closed the connection; check that it is running' : problem}.`,
    );
  };

  return {
    /**
     * Sends all commands without waiting for replies in between, and returns the replies in the order of the commands.
     *
     * @throws Refused
     */
    async send(commands: readonly RedisCommand[], purpose: string, { signal, stopwatch, patience }: Attempt) {
      signal.throwIfAborted();
      const [first] = commands;
      if (first === undefined) return [];
      if (closed) throw failed('connection_closed', `Redis ${purpose} failed: the store was closed.`);
      const limitMs = patience * timeoutMs;
      const startedMs = performance.now();
      const sendAll = async () => {
        await open();
        const pending = commands.map(({ name, args }) => {
          const command = new Command(name, [...args], { replyEncoding: null });
          // Overrides the connection's `commandTimeout`.
          command.setTimeout(limitMs);
          return redis.sendCommand(command) as Promise<Reply>;
        });
        const results = await Promise.allSettled(pending);
        return results.map((result, place) => {
          if (result.status === 'fulfilled') return result.value;
          throw refused(result.reason, purpose, commands[place] ?? first, limitMs);
        });
      };
      try {
        return await orAborted(sendAll(), signal);
      } catch (error) {
        signal.throwIfAborted();
        const refusal = error instanceof Refused ? error : refused(error, purpose, first, timeoutMs);
        // The network connection to an unresponsive server may be lost, so this call closes it, and the next command
        // opens a new one.
        if (failureCode(refusal) === 'timeout') leave();
        throw refusal;
      } finally {
        stopwatch.latencyMs += performance.now() - startedMs;
      }
    },
    /** Closes the connection, even during a command. */
    close: (): void => {
      closed = true;
      redis.disconnect();
    },
  };
}

async function connect(redis: Redis, forget: () => void): Promise<void> {
  // After `disconnect` the socket stays open for a moment.
  if (redis.status !== 'wait' && redis.status !== 'end') {
    await new Promise<void>((resolve) => redis.once('end', () => resolve()));
  }
  forget();
  await redis.connect();
}

function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Returns the scheme, host and port of a URL, but never the password. */
function labelOf(url: string, configField: string): string {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || address.hostname === '') {
    throw new RecalldError('config_invalid', `${configField}.url: use a URL such as redis://store.internal:6379.`);
  }
  return `${address.protocol}//${address.hostname}:${address.port || '6379'}`;
}

/** Reads RESP2 replies. */
export function repliesOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

export function replyText(reply: Reply | undefined): string | null {
  if (Buffer.isBuffer(reply)) return reply.toString('utf8');
  return typeof reply === 'number' ? String(reply) : null;
}

export function replyNumber(reply: Reply | undefined): number | null {
  const text = replyText(reply);
  if (text === null || text.trim() === '' || Number.isNaN(Number(text))) return null;
  return Number(text);
}

/**
 * Returns the value that follows a name in a list of names and values. The list may also contain flags without a value.
 */
export function valueAfter(list: readonly Reply[], name: string): Reply | undefined {
  const place = list.findIndex((reply) => replyText(reply) === name);
  return place < 0 ? undefined : list[place + 1];
}
