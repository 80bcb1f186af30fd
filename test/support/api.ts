/**
 * Calls the HTTP API as users do. Checks every response against the table of endpoints: an unlisted status, or a body
 * with fields outside its schema, fails the test.
 */
import { expect } from 'vitest';
import type { Endpoint } from '../../src/platform/http/wire.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Record<string, unknown>;
}

export type CallApi = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
  key?: string,
) => Promise<ApiAnswer>;

export function apiOf(url: string): CallApi {
  return async (method, path, body, key) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    holdToContract(await endpointOf(method, path), response, json);
    return { status: response.status, headers: response.headers, json };
  };
}

/** Returns the items on all pages, requesting `limit` items at a time. */
export async function allPages(call: CallApi, path: string, limit: number): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const { status, json } = await call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${more}`);
    expect(status).toBe(200);
    const page = json['items'] as unknown[];
    expect(page.length).toBeLessThanOrEqual(limit);
    items.push(...page);
    cursor = json['next_cursor'] as string | null;
  } while (cursor !== null);
  return items;
}

async function endpointOf(method: string, path: string): Promise<Endpoint> {
  // Imported on demand, because `openapi.ts` imports half of the program, and many tests never need it.
  const { endpoints } = await import('../../src/app/http/openapi.ts');
  const [pathname = ''] = path.split('?');
  const found = endpoints.find((endpoint) => {
    const pattern = endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+');
    return endpoint.method === method.toLowerCase() && new RegExp(`^${pattern}$`).test(pathname);
  });
  if (found === undefined) throw new Error(`${method} ${path} is not in the table of endpoints`);
  return found;
}

function holdToContract(endpoint: Endpoint, response: Response, json: Record<string, unknown>): void {
  const described = endpoint.responses[String(response.status)];
  if (described === undefined) {
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(json).toMatchObject({ status: response.status, code: expect.any(String) as string });
    expect(response.status).toBeLessThan(500);
    return;
  }
  if (described.body === null) return;
  const parsed = described.body.safeParse(json);
  expect(parsed.error?.issues ?? []).toEqual([]);
  // Fields that are not in the schema are missing from the parsed value.
  expect(parsed.data).toEqual(json);
}
