/** Returns the config of a daemon that ingests live queries as fast as possible. */
export function liveConfig(rate: number): string {
  return `
server: {port: 0, max_requests_per_minute: 100000000}
log: {level: info}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: ${rate}, max_per_minute: 100000000}
`;
}

let sent = 0;

/** Returns a live query with ten results and a unique id, as JSON. */
export function liveQuery(extra = ''): string {
  sent += 1;
  const results = Array.from({ length: 10 }, (_, i) => `{"id":"chunk-${(sent * 7 + i) % 50_000}","score":0.${90 - i}}`);
  return `{"id":"bench-${process.pid}-${sent}","pipeline":"docs","text":"How do I change the delivery address of order ${sent}?","top_k":10,"latency_ms":42,"session_id":"session-${sent % 5000}","segments":{"tenant":"acme"}${extra},"results":[${results.join(',')}]}`;
}

export function liveBatch(size: number, extra: () => string = () => ''): string {
  return `[${Array.from({ length: size }, () => liveQuery(extra())).join(',')}]`;
}
