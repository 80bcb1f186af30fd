/** What goes over the wire, so that what an adapter asks can be held against what the vendor's own client asks. */
import type { FaultServer } from './fault-server.ts';

export interface WireRequest {
  readonly method: string;
  /** Without the query, decoded. */
  readonly path: string;
  /** In no order, as services read it. */
  readonly query: readonly (readonly [string, string])[];
  /** JSON as a value; null when there is none. */
  readonly body: unknown;
}

/** The requests that a server gets while `work` goes on, and what it came to. */
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
