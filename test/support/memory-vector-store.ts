/** An in-memory vector store with exact search, for tests of code that uses stores. */

import type {
  ListedIds,
  Nearest,
  NearestRequest,
  SampledVectors,
  SampleRequest,
  StoreDescription,
  StoredChunk,
  StoreOutcome,
  VectorStore,
} from '../../src/connectors/stores/vector-store.ts';
import { drawn } from '../../src/math/stats/random.ts';
import { type Matrix, matrixOf } from '../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';

export interface MemoryChunk {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string | null;
  readonly version?: string | null;
}

export class MemoryVectorStore implements VectorStore {
  readonly kind = 'memory';
  /** Calls to `nearest`. */
  searches = 0;
  /** While this is set, every call fails with this reason. */
  failure: string | null = null;
  traits: Readonly<Record<string, string>> = { index: 'exact' };
  #chunks: readonly MemoryChunk[] = [];
  #matrix: Matrix = { rows: 0, columns: 0, data: new Float32Array() };

  constructor(chunks: readonly MemoryChunk[]) {
    this.hold(chunks);
  }

  get held(): readonly MemoryChunk[] {
    return this.#chunks;
  }

  hold(chunks: readonly MemoryChunk[]): void {
    this.#chunks = chunks;
    const columns = chunks[0]?.vector.length ?? 0;
    const data = new Float32Array(chunks.length * columns);
    for (const [row, { vector }] of chunks.entries()) data.set(vector, row * columns);
    this.#matrix = { rows: chunks.length, columns, data };
  }

  async nearest(request: NearestRequest, signal: AbortSignal): Promise<StoreOutcome<Nearest>> {
    signal.throwIfAborted();
    this.searches++;
    const { vector, k, withContent } = request;
    if (this.failure !== null) return this.#failed(this.failure);
    if (this.#chunks.length > 0 && vector.length !== this.#matrix.columns) {
      return { kind: 'failed', code: 'dimension_mismatch', message: 'other dimension', latencyMs: 1 };
    }
    const query = { rows: 1, columns: vector.length, data: vector };
    const found = nearestNeighbours(this.#matrix, query, k);
    const neighbours = [...found.indices].flatMap((row, i) => {
      const chunk = this.#chunks[row];
      const similarity = found.similarities[i] ?? 0;
      if (chunk === undefined) return [];
      const content = withContent ? chunk.content : null;
      return [{ id: chunk.id, similarity, score: similarity, scoreKind: 'cosine' as const, content }];
    });
    return ok({ neighbours, isShort: neighbours.length < k });
  }

  /** Returns all rows if the store has no more rows than requested. */
  async sample({ n, seed, withContent }: Partial<SampleRequest> = {}): Promise<StoreOutcome<SampledVectors>> {
    if (this.failure !== null) return this.#failed(this.failure);
    const rows = this.#chunks.map((_, row) => row);
    const some = n === undefined || n >= rows.length ? rows : drawn(rows, n, seed ?? 1);
    const chunks = some.flatMap((row) => this.#chunks[row] ?? []);
    return ok({
      ids: chunks.map(({ id }) => id),
      vectors: some.length === rows.length ? this.#matrix : matrixOf(chunks.map(({ vector }) => vector)),
      contents: chunks.map(({ content }) => (withContent === true ? content : null)),
      isSeeded: true,
    });
  }

  async describe(): Promise<StoreOutcome<StoreDescription>> {
    if (this.failure !== null) return this.#failed(this.failure);
    const { rows, columns } = this.#matrix;
    return ok({
      count: rows,
      isExactCount: true,
      dimensions: columns,
      metric: 'cosine',
      traits: { ...this.traits, size_class: String(Math.floor(Math.log2(Math.max(1, rows)))) },
    });
  }

  async existing(ids: readonly string[]): Promise<StoreOutcome<ReadonlySet<string>>> {
    if (this.failure !== null) return this.#failed(this.failure);
    const held = new Set(this.#chunks.map(({ id }) => id));
    return ok(new Set(ids.filter((id) => held.has(id))));
  }

  async list(from: string | null): Promise<StoreOutcome<ListedIds>> {
    if (this.failure !== null) return this.#failed(this.failure);
    const start = Number(from ?? 0);
    const ids = this.#chunks.slice(start, start + 1000).map(({ id }) => id);
    return ok({ ids, next: start + 1000 < this.#chunks.length ? String(start + 1000) : null });
  }

  async chunks(ids: readonly string[]): Promise<StoreOutcome<readonly StoredChunk[]>> {
    if (this.failure !== null) return this.#failed(this.failure);
    const wanted = new Set(ids);
    const found = this.#chunks.filter(({ id }) => wanted.has(id));
    return ok(found.map(({ id, content, version = null }) => ({ id, content, version })));
  }

  async close(): Promise<void> {}

  #failed(message: string): { kind: 'failed'; code: string; message: string; latencyMs: number } {
    return { kind: 'failed', code: 'unreachable', message, latencyMs: 1 };
  }
}

function ok<Value>(value: Value): StoreOutcome<Value> {
  return { kind: 'ok', value, latencyMs: 1 };
}
