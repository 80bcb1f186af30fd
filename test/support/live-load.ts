/** Clients that retry live traffic until it is accepted, and record what was accepted. */
import { setTimeout as pause } from 'node:timers/promises';

export interface LiveLoadSettings {
  /** Returns the addresses of the running APIs; the clients send requests to them in turn. */
  readonly apis: () => readonly string[];
  /** Null for a daemon that needs no key. */
  readonly key: string | null;
  readonly pipeline: string;
  /** Number of clients, each of which sends one request at a time. */
  readonly clients: number;
  /** Pause between two batches from one client. */
  readonly pauseMs: number;
  /** Timeout after which a client retries, possibly at another API, so two APIs may process the same batch. */
  readonly patienceMs: number;
}

export interface LiveLoad {
  /** Ids of live queries, including those from OpenTelemetry spans, that were answered with 202. */
  readonly queries: ReadonlySet<string>;
  /** Ids of feedback that was answered with 202. */
  readonly feedback: ReadonlySet<string>;
  /** Number of responses by status other than 202; 0 means no response. */
  readonly refusals: ReadonlyMap<number, number>;
  /** Latencies of accepted requests by route, excluding rejected attempts before them. */
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>;
  /** Waits until every client has finished its last batch. */
  stop(): Promise<void>;
  /** Stops immediately, for a daemon that no longer answers. */
  abandon(): Promise<void>;
}

const QUERIES_IN_A_BATCH = 10;

interface Shipment {
  readonly route: string;
  readonly body: unknown;
  readonly queries: readonly string[];
  readonly feedback: readonly string[];
}

export function startLiveLoad(settings: LiveLoadSettings): LiveLoad {
  const { apis, key, pipeline, clients, pauseMs, patienceMs } = settings;
  const queries = new Set<string>();
  const feedback = new Set<string>();
  const refusals = new Map<number, number>();
  const latenciesMs = new Map<string, number[]>();
  let isOver = false;
  let isAbandoned = false;
  let turn = 0;

  const note = (route: string, tookMs: number): void => {
    const known = latenciesMs.get(route);
    if (known === undefined) latenciesMs.set(route, [tookMs]);
    else known.push(tookMs);
  };
  const post = async ({ route, body }: Shipment): Promise<number> => {
    const up = apis();
    const api = up[(turn += 1) % Math.max(1, up.length)];
    if (api === undefined) return 0;
    const login = key === null ? {} : { authorization: `Bearer ${key}` };
    const headers = { 'content-type': 'application/json', ...login };
    const signal = AbortSignal.timeout(patienceMs);
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal };
    try {
      const response = await fetch(`${api}${route}`, request);
      const text = await response.text();
      // Without this check, items that a partial success rejected would count as accepted.
      if (response.ok && /"rejected":\[\{|"rejectedSpans":"?[1-9]/.test(text)) throw new Error(text);
      return response.ok ? 202 : response.status;
    } catch (error) {
      if (error instanceof Error && error.message.includes('reject')) throw error;
      return 0;
    }
  };
  const sendUntilAccepted = async (shipment: Shipment): Promise<void> => {
    while (!isAbandoned) {
      const startedAt = performance.now();
      const status = await post(shipment);
      if (status === 202) {
        note(shipment.route, performance.now() - startedAt);
        for (const id of shipment.queries) queries.add(id);
        for (const id of shipment.feedback) feedback.add(id);
        return;
      }
      refusals.set(status, (refusals.get(status) ?? 0) + 1);
      await pause(50);
    }
  };
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let batch = 0; !isOver; batch += 1) {
      for (const shipment of shipmentsOf(pipeline, client, batch)) await sendUntilAccepted(shipment);
      await pause(pauseMs);
    }
  });
  // If a client receives a partial success, `stop` reports it; until then, the error must not end the process.
  const ended = Promise.all(running);
  ended.catch(() => undefined);
  return {
    queries,
    feedback,
    refusals,
    latenciesMs,
    async stop() {
      isOver = true;
      await ended;
    },
    async abandon() {
      isOver = true;
      isAbandoned = true;
      await ended.catch(() => undefined);
    },
  };
}

/** Returns a batch of queries, feedback on some of these queries, and a query in an OpenTelemetry span. */
function shipmentsOf(pipeline: string, client: number, batch: number): Shipment[] {
  const prefix = `${client}-${batch}`;
  const ids = Array.from({ length: QUERIES_IN_A_BATCH }, (_, index) => `${prefix}-${index}`);
  const feedback = ids.slice(0, 3).map((id, index) => ({
    id: `f-${id}`,
    query_id: id,
    pipeline,
    kind: 'thumb',
    value: index === 0 ? 'down' : 'up',
  }));
  const traceId = hex(client + 1, 8) + hex(batch + 1, 24);
  const spanId = hex(batch + 1, 16);
  return [
    {
      route: '/v1/queries',
      body: ids.map((id) => ({
        id,
        pipeline,
        text: `what is ${id}`,
        session_id: prefix,
        embedding: [0.6, 0.8],
        results: [{ id: 'd1', score: 0.5 }],
      })),
      queries: ids,
      feedback: [],
    },
    { route: '/v1/feedback', body: feedback, queries: [], feedback: feedback.map(({ id }) => id) },
    {
      route: '/v1/traces',
      body: anExport(pipeline, traceId, spanId),
      queries: [`${traceId}-${spanId}`],
      feedback: [],
    },
  ];
}

/** Returns an OTLP export in JSON with one retriever span. */
function anExport(pipeline: string, traceId: string, spanId: string): unknown {
  const now = `${Date.now()}000000`;
  const attributes = Object.entries({
    'recalld.pipeline': pipeline,
    'openinference.span.kind': 'RETRIEVER',
    'input.value': `what is ${spanId}`,
    'retrieval.documents.0.document.id': 'd1',
  }).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const span = {
    traceId,
    spanId,
    name: 'retrieve',
    kind: 1,
    startTimeUnixNano: now,
    endTimeUnixNano: now,
    attributes,
  };
  return { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: [span] }] }] };
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}
