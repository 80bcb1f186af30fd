/** A JSON service at an address, called without patience. */
import { createJsonApi, type JsonApi, type JsonApiSettings } from '../../src/outbound/json-api.ts';

export function aJsonApi(url: string, changes: Partial<JsonApiSettings> = {}): JsonApi {
  return createJsonApi({
    service: 'The service',
    configField: 'service',
    url,
    headers: {},
    timeoutMs: 5000,
    retries: 0,
    maxPerSecond: null,
    backoffMs: 1,
    ...changes,
  });
}

export const never = new AbortController().signal;
