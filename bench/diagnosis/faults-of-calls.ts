/** Faults that make calls to the retriever fail or slow down. */
import type { RandomNumbers } from '../random-numbers.ts';
import { among, type Broken, between, type Fault, isIn, TIMEOUT_MS } from './fault.ts';

function failing(share: number, codes: readonly string[], random: RandomNumbers): Broken {
  const code = among(random, codes);
  return { failure: ({ random: drawn }) => (isIn(drawn, share) ? code : null) };
}

const refused = ['connection_refused', 'host_unreachable', 'http_502', 'http_503'] as const;

export const ofCalls: readonly Fault[] = [
  {
    name: 'down',
    does: 'every call fails: refused, unreachable, 502 or 503',
    cause: 'retriever_outage',
    breakIt: (_, random) => failing(among(random, [1, 1, 0.98]), refused, random),
  },
  {
    name: 'hangs',
    does: 'no call returns before its timeout',
    cause: 'retriever_outage',
    breakIt: () => ({ failure: () => 'timeout', latency: () => TIMEOUT_MS }),
  },
  {
    name: 'half of the calls',
    does: '25 to 75 % of the calls fail',
    cause: 'retriever_failing',
    breakIt: (_, random) => failing(between(random, 0.25, 0.75), ['http_500', 'http_503', 'connection_reset'], random),
  },
  {
    name: 'some calls',
    does: '7 to 25 % of the calls fail',
    cause: 'retriever_failing',
    breakIt: (_, random) => failing(between(random, 0.07, 0.25), ['http_500', 'http_503', 'connection_reset'], random),
  },
  {
    name: 'live calls alone',
    does: '10 to 60 % of live queries fail, but no golden query',
    cause: 'live_traffic',
    breakIt: (_, random) => ({ liveFailed: between(random, 0.1, 0.6) }),
  },
  {
    name: 'credentials',
    does: 'calls are refused with 401 or 403',
    cause: 'access_denied',
    breakIt: (_, random) => failing(1, ['http_401', 'http_403'], random),
  },
  {
    name: 'rate limit',
    does: '10 to 80 % of the calls are refused with 429',
    cause: 'rate_limited',
    breakIt: (_, random) => failing(between(random, 0.1, 0.8), ['http_429'], random),
  },
  {
    name: 'error page',
    does: 'a proxy returns an error page with status 200 for 30 to 100 % of the calls',
    cause: 'error_page',
    breakIt: (_, random) =>
      failing(among(random, [1, between(random, 0.3, 1)]), ['not_json', 'no_result_list', 'http_redirect'], random),
  },
  {
    name: 'slow',
    does: 'responses take 4 to 30 times as long, but no call times out',
    cause: 'retriever_slow',
    breakIt: (_, random) => {
      const factor = between(random, 4, 30);
      return { latency: (ms) => Math.min(0.9 * TIMEOUT_MS, factor * ms + 60) };
    },
  },
  {
    name: 'slow with timeouts',
    does: '10 to 70 % of the calls time out, and the other calls are slow',
    cause: 'retriever_slow',
    breakIt: (_, random) => {
      const share = between(random, 0.1, 0.7);
      return {
        latency: (ms, { random: drawn }) => (isIn(drawn, share) ? 2 : between(drawn, 0.2, 0.8)) * TIMEOUT_MS + ms,
      };
    },
  },
  {
    name: 'cold cache',
    does: 'responses take 5 to 40 times as long in the first tenth to third of a run, and the usual time afterwards',
    cause: 'cold_cache',
    breakIt: (_, random) => {
      const [factor, until] = [between(random, 5, 40), between(random, 0.15, 0.35)];
      return { latency: (ms, { place, run }) => (place < until / (run + 1) ? Math.max(120, factor * ms) : ms) };
    },
  },
];
