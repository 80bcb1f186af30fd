/** Settings of an adapter over HTTP, as the contract suite opens it. */
import type { JsonApiSettings } from '../../src/outbound/json-api.ts';
import type { StoreAccess } from '../contract/vector-store-bench.ts';

export function restApi(
  service: string,
  { url, timeoutMs = 2000, retries = 0 }: Partial<StoreAccess> & { readonly url: string },
  headers: Readonly<Record<string, string>> = {},
): JsonApiSettings {
  return {
    service,
    configField: 'pipelines[0].vector_store',
    url,
    headers,
    timeoutMs,
    retries,
    maxPerSecond: null,
    backoffMs: 1,
  };
}
