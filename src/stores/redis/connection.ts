/** One connection to Redis, opened by the first command and again after it broke. */
import { setMaxListeners } from 'node:events';
import { Command, Redis } from 'ioredis';
import { RecalldError } from '../../errors.ts';
import { classifyConnectionFailure } from '../../outbound/connection-failure.ts';
import { type Attempt, failed, failureCode, Refused } from '../outcome.ts';
import { refusalOfReply } from './reply-error.ts';

export interface RedisSettings {
  /** `redis://` or `rediss://`, with user and password. */
  readonly url: string;
  /** For a connection, and for each command times the patience of its attempt. */
  readonly timeoutMs: number;
  /** Where the config describes it: `vector_store`. */
  readonly configField: string;
}

/** As RESP2 gives it: texts are bytes, since vectors and ids may be any. */
export type Reply = Buffer | number | null | readonly Reply[];

export interface RedisCommand {
  readonly name: string;
  readonly args: readonly (string | number | Buffer)[];
  /** The version that has the command: `Redis 8.4 (VRANGE)`. */
  readonly needs: string;
}

export interface RedisConnection {
  /** Sends the commands at once and gives their replies in the same order. @throws Refused */
  send(commands: readonly RedisCommand[], purpose: string, attempt: Attempt): Promise<readonly Reply[]>;
  /** Closes the connection, whatever is under way. */
  close(): void;
}

/** How long a server that does not answer may take to close its end. */
const LONGEST_GOODBYE_MS = 1000;

/** @throws RecalldError config_invalid for anything but an absolute redis or rediss URL */
export function createRedisConnection({ url, timeoutMs, configField }: RedisSettings): RedisConnection {
  const label = labelOf(url, configField);
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    disconnectTimeout: Math.min(timeoutMs, LONGEST_GOODBYE_MS),
    maxRetriesPerRequest: 0,
    // A connection that broke is opened again by the next command, so that nothing goes on behind its back.
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
    // The status stays as it is until the connection is gone.
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
  const refused = (
    error: unknown,
    purpose: string,
    { name, needs }: RedisCommand,
    limitMs: number,
  ): Refused => {
    const place = { label, purpose, configField, command: name, needs };
    // After a failed connection only the event knows the reason.
    const cause = isReplyError(error) || lastError === undefined ? error : lastError;
    if (isReplyError(cause)) return refusalOfReply(cause.message, place);
    if (error instanceof Error && error.message === 'Command timed out') return timedOut(place, limitMs);
    const { code, problem } = classifyConnectionFailure(cause);
    if (code === 'timeout') return timedOut(place, limitMs);
    const isBroken = code === 'connection_failed';
    return failed(
      isBroken ? 'connection_reset' : code,
      `Redis ${purpose} failed: ${label} ${isBroken ? 'closed the connection; check that it is up' : problem}.`,
    );
  };

  return {
    async send(commands, purpose, { signal, stopwatch, patience }) {
      signal.throwIfAborted();
      const [first] = commands;
      if (first === undefined) return [];
      if (closed) throw failed('connection_closed', `Redis ${purpose} failed: the store was closed.`);
      const limitMs = patience * timeoutMs;
      const startedMs = performance.now();
      try {
        return await orAborted(signal, async () => {
          await open();
          const pending = commands.map(({ name, args }) => {
            const command = new Command(name, [...args], { replyEncoding: null });
            // Takes the place of commandTimeout.
            command.setTimeout(limitMs);
            return redis.sendCommand(command) as Promise<Reply>;
          });
          const settled = await Promise.allSettled(pending);
          return settled.map((result, place) => {
            if (result.status === 'fulfilled') return result.value;
            throw refused(result.reason, purpose, commands[place] ?? first, limitMs);
          });
        });
      } catch (error) {
        signal.throwIfAborted();
        const refusal = error instanceof Refused ? error : refused(error, purpose, first, timeoutMs);
        // What does not answer may have lost its network; the next command tries a new connection.
        if (failureCode(refusal) === 'timeout') leave();
        throw refusal;
      } finally {
        stopwatch.latencyMs += performance.now() - startedMs;
      }
    },
    close() {
      closed = true;
      redis.disconnect();
    },
  };
}

async function connect(redis: Redis, forget: () => void): Promise<void> {
  // One that was told to disconnect still has its socket for a moment.
  if (redis.status !== 'wait' && redis.status !== 'end') {
    await new Promise<void>((resolve) => redis.once('end', () => resolve()));
  }
  forget();
  await redis.connect();
}

function orAborted<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // One signal serves many commands at once.
    setMaxListeners(0, signal);
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });
}

function timedOut({ label, purpose, configField }: Record<string, string>, timeoutMs: number): Refused {
  const wayOut = `raise ${configField}.timeout_ms or look at its load`;
  return failed(
    'timeout',
    `Redis ${purpose} failed: ${label} did not answer within ${timeoutMs} ms; ${wayOut}.`,
  );
}

function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Scheme, host and port: never the password. */
function labelOf(url: string, configField: string): string {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || !/^rediss?:$/.test(address.protocol) || address.hostname === '') {
    throw new RecalldError(
      'config_invalid',
      `${configField}.url: write it like redis://store.internal:6379.`,
    );
  }
  return `${address.protocol}//${address.hostname}:${address.port || '6379'}`;
}
