/**
 * What stands behind the stand-ins for stores that cannot run on this machine: vectors that are compared one by one.
 * Each stand-in speaks the documented API of its store over this, so that adapters meet answers of the true form.
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
  /** Given at creation and never again. */
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

/** All rows that pass, best first by the metric of the index. */
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

/** Fisher and Yates with a new seed at each call, or the one given. */
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

/** The body of a request, whose form the adapter under test decides. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;

export interface FakeRequest {
  readonly method: string;
  /** Without the query, decoded. */
  readonly path: string;
  /** JSON, or the text of another type. */
  readonly body: Body;
  readonly url: URL;
}

/** Answers each request by its method, path without the query, and body; `headers` come with every answer. */
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

/** By its form: clients have content types of their own, and Milvus' client sends none of JSON. */
function jsonOrText(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Sends what a test prepares a store with, which no adapter may do. */
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
