/** Where OTLP is sent over HTTP: one address, with its headers, time-outs and proxy, for metrics and for events. */
import { hostname } from 'node:os';
import { at, createJsonApi, numberOf, textOf } from '../outbound/json-api.ts';
import { createServiceSettings, type HttpServiceConfig } from '../outbound/service-settings.ts';
import type { Reporter } from './otlp.ts';

export interface OtlpEndpoint {
  /** How this process is called in what it sends. */
  readonly reporter: Reporter;
  /**
   * Sends one request, with the retries and the time-out of the config.
   *
   * @returns null when all of it was taken; else why not, in a sentence, and whether some of it was
   */
  send(signal: 'metrics' | 'logs', body: object): Promise<OtlpRefusal | null>;
  close(): void;
}

export interface OtlpRefusal {
  readonly reason: string;
  /** It arrived, and the receiver will not take the rest another time either. */
  readonly isPartial: boolean;
}

/** One call in a while needs no limit. */
const MAX_PER_SECOND = 100;

/** @throws RecalldError config_invalid for an address, a header or a TLS file that cannot be used */
export function createOtlpEndpoint(
  config: Omit<HttpServiceConfig, 'max_per_second'>,
  process: Omit<Reporter, 'instance'>,
): OtlpEndpoint {
  const identity = { service: 'The OTLP endpoint', configField: 'metrics.otlp' };
  const api = createJsonApi(createServiceSettings({ ...config, max_per_second: MAX_PER_SECOND }, identity));
  const longestMs = config.timeout_ms * (config.retries + 1);
  return {
    reporter: { ...process, instance: `${hostname()}:${globalThis.process.pid}` },
    async send(signal, body) {
      const call = { method: 'POST', path: `/v1/${signal}`, body, purpose: signal } as const;
      const answer = await api.call(call, AbortSignal.timeout(longestMs)).catch(() => null);
      if (answer === null) return { reason: 'it takes too long', isPartial: false };
      if (answer.kind === 'answer') return partOf(answer.json);
      // Prometheus takes it and answers with nothing.
      return answer.code === 'not_json' ? null : { reason: answer.message, isPartial: false };
    },
    close: () => api.close(),
  };
}

/** `partialSuccess` of an answer, whose counts are text in JSON. */
function partOf(answer: unknown): OtlpRefusal | null {
  const part = at(answer, 'partialSuccess');
  const refused = numberOf(at(part, 'rejectedDataPoints')) ?? numberOf(at(part, 'rejectedLogRecords')) ?? 0;
  if (refused <= 0) return null;
  const why = textOf(at(part, 'errorMessage')) ?? 'without a reason';
  return { reason: `the receiver refused ${refused} of it: ${why}`, isPartial: true };
}
