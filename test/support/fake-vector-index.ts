/**
 * Code shared by the stand-ins for stores that cannot run on this machine; it compares vectors by brute force. Each
 * stand-in adds its store's documented API, so that adapters receive responses in the real form.
 */

import type { VectorMetric } from '../../src/connectors/stores/vector-store.ts';
import { createRandom } from '../../src/math/stats/random.ts';
import { cosineSimilarity, dotProduct } from '../../src/math/vector/matrix.ts';
import type { Responder } from './fault-server.ts';

export interface FakeRow {
  readonly key: string;
  readonly vector: Float32Array;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface FakeIndex {
  readonly metric: VectorMetric;
  readonly dimensions: number;
  /** Id that is set at creation and never changes. */
  readonly uid: string;
  readonly rows: Map<string, FakeRow>;
}

export interface Ranked {
  readonly row: FakeRow;
  readonly cosine: number;
  readonly dot: number;
  readonly squaredL2: number;
}

let created = 0;

export function fakeIndex(metric: VectorMetric, dimensions: number): FakeIndex {
  created += 1;
  return { metric, dimensions, uid: `uid-${created}`, rows: new Map() };
}

/** All rows that pass the filter, best first by the index metric. */
export function ranked(
  index: FakeIndex,
  query: readonly number[],
  passes: (row: FakeRow) => boolean = () => true,
): Ranked[] {
  const vector = Float32Array.from(query);
  const all = [...index.rows.values()].filter(passes).map(
    (row): Ranked => ({
      row,
      cosine: cosineSimilarity(vector, row.vector),
      dot: dotProduct(vector, row.vector),
      squaredL2: row.vector.reduce((sum, value, place) => sum + (value - (vector[place] ?? 0)) ** 2, 0),
    }),
  );
  const goodness = {
    cosine: (r: Ranked) => r.cosine,
    dot: (r: Ranked) => r.dot,
    l2: (r: Ranked) => -r.squaredL2,
  };
  return all.toSorted((a, b) => goodness[index.metric](b) - goodness[index.metric](a));
}

/** Fisher-Yates shuffle with a new seed at each call, or with the given seed. */
export function shuffled<Item>(items: Iterable<Item>, seed = nextSeed()): Item[] {
  const random = createRandom(seed);
  const bits = new Uint32Array(1);
  const all = [...items];
  for (let last = all.length - 1; last > 0; last -= 1) {
    random(bits);
    const place = Math.floor(((bits[0] ?? 0) / 2 ** 32) * (last + 1));
    [all[last], all[place]] = [all[place] as Item, all[last] as Item];
  }
  return all;
}

let seeds = 1000;
function nextSeed(): number {
  seeds += 1;
  return seeds;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly json: unknown;
}

/** The request body, whose form the adapter under test decides. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;

export interface FakeRequest {
  readonly method: string;
  /** Path without the query string, decoded. */
  readonly path: string;
  /** Parsed JSON; the text if the body is not JSON. */
  readonly body: Body;
  readonly url: URL;
}

/**
 * Passes the method, the body and the path (without the query string) of each request to `answer`, and sends the
 * response that `answer` returns. Every response also has `headers`.
 */
export function fakeApi(
  answer: (request: FakeRequest) => FakeAnswer,
  headers: Readonly<Record<string, string>> = {},
): Responder {
  return (request, response) => {
    const url = new URL(request.target, 'http://fake');
    let given: FakeAnswer;
    try {
      const body: Body = jsonOrText(request.body);
      given = answer({ method: request.method, path: decodeURIComponent(url.pathname), body, url });
    } catch (error) {
      given = { status: 500, json: { error: String(error) } };
    }
    const { status = 200, json } = given;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));
  };
}

/**
 * Parses a body as JSON if possible, because content types differ between clients, and the Milvus client sends none for
 * JSON.
 */
function jsonOrText(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Sends a request that prepares a store for a test; adapters may not send such requests. */
export async function prepare(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers = {},
): Promise<unknown> {
  const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? null : JSON.parse(text);
}
