/** Faults, each in a separate pipeline, and the notifications that each fault must cause. */
import {
  documents,
  type FaultServer,
  hang,
  html,
  type ReceivedRequest,
  type Responder,
  reset,
  startFaultServer,
  status,
  when,
} from '../support/fault-server.ts';
import { questionOf, rightAnswer } from './golden-files.ts';

export const QUERIES = 20;

export interface Fault {
  /** Name of the pipeline with the fault. */
  readonly pipeline: string;
  /** Responses of the retriever during the fault; null if the fault affects only live queries. */
  readonly broken: Responder | null;
  readonly check?: string;
  /** Summary of the only page that the fault may cause, or null if it may cause none. */
  readonly page: string | null;
  /** Summary of a notification that is sent to the chat and not to the pager. */
  readonly chat?: string;
  /** Pattern for the text of the notification, including its numbers. */
  readonly says: RegExp;
}

const FLOOR = '{measure: ndcg@10, below: 0.95}';
const isOdd = (request: ReceivedRequest): boolean => questionOf(request) % 2 === 1;
const isFewer = (request: ReceivedRequest): boolean => questionOf(request) % 5 < 2;
const others = (request: ReceivedRequest) => rightAnswer(request).slice(1);

const silent = (pipeline: string) => `${pipeline}: retriever down`;
const broken = (pipeline: string) => `${pipeline}: a critical check fails`;
const none = /^100% of the 20 queries in the latest run of faq on \S+ failed or timed out/;
/** The last good value may be below 1: a run during which the fault began may still count as good. */
const expectedDrop = (value: string) =>
  new RegExp(
    `^nDCG@10 on faq dropped from (?:1|0\\.9\\d*) to ${value} \\(95 % CI [\\d.]+ to [\\d.]+, n = 20\\), below 0\\.95, at \\d\\d:\\d\\d UTC on \\d{4}-\\d\\d-\\d\\d\\.`,
  );

/**
 * A fault that makes the retriever unavailable. The fault causes a page about the outage, and no second page about a
 * critical check.
 */
function outage(pipeline: string, responder: Responder): Fault {
  return { pipeline, broken: responder, page: silent(pipeline), says: none };
}

function wrong(pipeline: string, responder: Responder, value: string, more: Partial<Fault> = {}): Fault {
  return { pipeline, broken: responder, page: broken(pipeline), says: expectedDrop(value), ...more };
}

export const faults: readonly Fault[] = [
  outage('errors', status(500)),
  outage('refused', reset()),
  outage('web-page', html()),
  outage('timeouts', hang()),
  wrong('partly-failing', when(isFewer, status(503), documents(rightAnswer)), '0\\.6', {
    chat: 'partly-failing: retriever errors',
  }),
  wrong('empty', documents([]), '0'),
  wrong('other-documents', documents(others), '0'),
  wrong(
    'documents-gone',
    documents((request) => (isOdd(request) ? others(request) : rightAnswer(request))),
    '0\\.5',
  ),
  wrong(
    'renamed',
    documents((request) => rightAnswer(request).map(({ id }) => ({ id: `kb-${id}` }))),
    '0',
  ),
  wrong(
    'badly-ranked',
    documents((request) => rightAnswer(request).toReversed()),
    '0\\.5',
  ),
  wrong(
    'cut-off',
    documents((request) => rightAnswer(request).slice(isOdd(request) ? 1 : 0, 1)),
    '0\\.5',
  ),
  {
    pipeline: 'fallen',
    broken: documents((request) => (isOdd(request) ? others(request) : rightAnswer(request))),
    check: '{name: release, regression: ndcg@10, drop: 0.02}',
    page: broken('fallen'),
    says: /^nDCG@10 on faq compared with baseline \S+: -0\.5 \(95 % CI -[\d.]+ to -[\d.]+, n = 20\), below -0\.02, at .*\. The check "release on faq"/,
  },
  {
    pipeline: 'live-errors',
    broken: null,
    page: 'live-errors: most live queries fail',
    says: /^[\d.]+% of live queries on live-errors in the last 5 minutes failed or timed out/,
  },
  {
    pipeline: 'live-nothing',
    broken: null,
    page: null,
    chat: 'live-nothing: many live queries return no documents',
    says: /^[\d.]+% of live queries on live-nothing in the last hour returned no documents/,
  },
];

export interface Broken {
  readonly config: string;
  readonly break: () => void;
  readonly mend: () => void;
  /**
   * Returns a live query for each pipeline whose fault affects live queries. During a fault, the query shows the effect
   * of the fault.
   */
  liveQueries(): object[];
  readonly servers: ReadonlyMap<string, FaultServer>;
}

/** Starts a service for each fault. All services are healthy until `break` is called. */
export async function startFaults(
  chosen: readonly Fault[],
  atEnd: (close: () => Promise<void>) => void,
): Promise<Broken> {
  const servers = new Map<string, FaultServer>();
  for (const { pipeline } of chosen) {
    const server = await startFaultServer(documents(rightAnswer));
    atEnd(() => server.close());
    servers.set(pipeline, server);
  }
  let isBroken = false;
  let sent = 0;
  const respond = (): void => {
    for (const { pipeline, broken: responder } of chosen)
      servers.get(pipeline)?.respondWith(isBroken && responder !== null ? responder : documents(rightAnswer));
  };
  const configOf = ({ pipeline, check = FLOOR }: Fault): string => `
  - name: ${pipeline}
    retriever: {kind: http, url: "${servers.get(pipeline)?.url}/search", retries: 0, timeout_ms: 2000}
    golden: [{set: faq, concurrency: 20, max_per_second: 1000, cron: "*/10 * * * * *"}]
    checks: [${check}]`;
  return {
    servers,
    config: `
server: {port: 0}
alerts: {console_base_url: "https://recalld.internal"}
pipelines:${chosen.map(configOf).join('')}
`,
    break() {
      isBroken = true;
      respond();
    },
    mend() {
      isBroken = false;
      respond();
    },
    liveQueries() {
      const at = { id: `live-${(sent += 1)}`, text: 'a question' };
      const fine = { results: [{ id: 'd1', score: 0.9 }], latency_ms: 20 };
      return [
        { ...at, pipeline: 'live-errors', ...(isBroken ? { results: [], error: 'it failed' } : fine) },
        { ...at, pipeline: 'live-nothing', ...(isBroken ? { results: [] } : fine) },
      ].filter(({ pipeline }) => servers.has(pipeline));
    },
  };
}
