/** Captures requests on the wire, to compare an adapter's requests with those of the vendor's client. */
import type { FaultServer } from './fault-server.ts';

export interface WireRequest {
  readonly method: string;
  /** Path without the query string, decoded. */
  readonly path: string;
  /** Query parameters, sorted, because services ignore their order. */
  readonly query: readonly (readonly [string, string])[];
  /** Parsed JSON body; null if there is none. */
  readonly body: unknown;
}

/** The requests that a server receives while `work` runs, and the result of `work`. */
export async function onTheWire<Value>(
  server: FaultServer,
  work: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly sent: readonly WireRequest[] }> {
  const before = server.requests.length;
  const value = await work();
  const sent = server.requests.slice(before).map(({ method, target, body }): WireRequest => {
    const { pathname, searchParams } = new URL(target, server.url);
    const query = [...searchParams].toSorted(([a, x], [b, y]) => (`${a}=${x}` < `${b}=${y}` ? -1 : 1));
    return { method, path: decodeURIComponent(pathname), query, body: body === '' ? null : JSON.parse(body) };
  });
  return { value, sent };
}
