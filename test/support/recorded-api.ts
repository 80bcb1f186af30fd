/** A server that replays documented responses in turn and records its requests. */
import { onTestFinished } from 'vitest';
import { type FaultServer, inTurn, json, type Responder, startFaultServer } from './fault-server.ts';

export interface RecordedCall {
  /** Method, path and query string. */
  readonly call: string;
  readonly body: unknown;
}

export interface RecordedApi {
  readonly url: string;
  /** Requests, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** Bodies as sent, for numbers that JSON.parse would round. */
  readonly texts: readonly string[];
  /** Headers of the last request. */
  readonly headers: FaultServer['requests'][number]['headers'];
}

/**
 * Answers the first request with the first item of `answers`, the second with the second, and so on. If an item is a
 * responder, the responder answers; any other item is sent as JSON with status 200.
 */
export async function replay(...answers: readonly unknown[]): Promise<RecordedApi> {
  const responders = answers.map((answer) => (typeof answer === 'function' ? (answer as Responder) : json(answer)));
  const server = await startFaultServer(inTurn(responders[0] ?? json({}), ...responders.slice(1)));
  onTestFinished(() => server.close());
  return {
    url: server.url,
    get calls() {
      return server.requests.map(({ method, target, body }) => ({
        call: `${method} ${target}`,
        body: body === '' ? null : (JSON.parse(body) as unknown),
      }));
    },
    get texts() {
      return server.requests.map(({ body }) => body);
    },
    get headers() {
      return server.requests.at(-1)?.headers ?? {};
    },
  };
}
