import type { CanariesTable } from '../../src/probes/probes.ts';

/** Canary vectors in memory. */
export class MemoryEmbeddingCanaries implements CanariesTable {
  readonly #kept = new Map<string, readonly Float32Array[]>();

  async find(pipeline: string, embedder: string): Promise<readonly Float32Array[] | null> {
    return this.#kept.get(`${pipeline} ${embedder}`) ?? null;
  }

  async save(pipeline: string, embedder: string, vectors: readonly Float32Array[]): Promise<void> {
    const key = `${pipeline} ${embedder}`;
    if (!this.#kept.has(key)) this.#kept.set(key, vectors);
  }

  async forget(pipeline: string): Promise<void> {
    for (const key of this.#kept.keys()) if (key.startsWith(`${pipeline} `)) this.#kept.delete(key);
  }
}
