/** Golden sets in memory, for tests of what is built on them. */
import type { GoldenSets, GoldenSetVersion, NewGoldenSet } from '../../src/ports/golden-sets.ts';

export class MemoryGoldenSets implements GoldenSets {
  readonly #versions: { readonly version: GoldenSetVersion; readonly set: NewGoldenSet }[] = [];

  add(set: NewGoldenSet, now: Date): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }> {
    const latest = this.#latest(set.name);
    if (latest !== null && latest.contentHash === set.contentHash)
      return Promise.resolve({ set: latest, created: false });
    const { name, contentHash, format, queries } = set;
    const judgments = queries.reduce((sum, query) => sum + query.judgments.length, 0);
    const number = (latest?.version ?? 0) + 1;
    const version = {
      name,
      version: number,
      contentHash,
      format,
      importedAt: now,
      queries: queries.length,
      judgments,
    };
    this.#versions.unshift({ version, set });
    return Promise.resolve({ set: version, created: true });
  }

  latest(name: string): Promise<GoldenSetVersion | null> {
    return Promise.resolve(this.#latest(name));
  }

  list(): Promise<readonly GoldenSetVersion[]> {
    return Promise.resolve(this.#versions.map(({ version }) => version));
  }

  queries(name: string, version: number): Promise<NewGoldenSet['queries']> {
    const found = this.#versions.find(
      (entry) => entry.version.name === name && entry.version.version === version,
    );
    return found === undefined
      ? Promise.reject(new Error(`there is no version ${version} of ${name}`))
      : Promise.resolve(found.set.queries);
  }

  #latest(name: string): GoldenSetVersion | null {
    return this.#versions.find(({ version }) => version.name === name)?.version ?? null;
  }
}
