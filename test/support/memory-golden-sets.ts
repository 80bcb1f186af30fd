/** Golden sets in memory, for tests of what is built on them. The contract of the port holds it to the real one. */
import { RecalldError } from '../../src/errors.ts';
import type { GoldenSetVersion, NewGoldenSet, QueryOrigin, QuerySelection } from '../../src/golden/rules/golden-set.ts';
import type { GoldenSets } from '../../src/golden/sql/golden-sets.ts';
import type { GoldenQuery } from '../../src/model.ts';
import { wellFormed } from './well-formed.ts';

interface Stored {
  readonly version: GoldenSetVersion;
  readonly queries: readonly GoldenQuery[];
}

export class MemoryGoldenSets implements GoldenSets {
  /** Newest first. */
  readonly #stored: Stored[] = [];
  readonly #origins = new Map<string, Map<string, QueryOrigin>>();

  async add(set: NewGoldenSet, now: Date): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }> {
    const latest = this.#latest(set.name);
    const origin = set.origin ?? 'human';
    if (latest !== null && latest.origin !== origin) {
      throw new RecalldError('golden_origin_differs', `The set ${set.name} is ${latest.origin}.`);
    }
    if (latest?.contentHash === set.contentHash) return { set: latest, created: false };
    for (const { id, judgments } of set.queries) {
      const documents = new Set(judgments.map(({ documentId }) => documentId));
      if (documents.size < judgments.length) throw new Error(`duplicate judgment of the query ${id}`);
    }
    const { name, contentHash, format } = set;
    const version: GoldenSetVersion = {
      name,
      version: (latest?.version ?? 0) + 1,
      contentHash,
      format,
      importedAt: now,
      queries: set.queries.length,
      judgments: set.queries.reduce((sum, query) => sum + query.judgments.length, 0),
      origin,
      note: set.note ?? null,
    };
    this.#stored.unshift({ version, queries: wellFormed(set.queries) });
    const origins = this.#origins.get(name) ?? new Map<string, QueryOrigin>();
    for (const one of set.origins ?? []) if (!origins.has(one.queryId)) origins.set(one.queryId, one);
    this.#origins.set(name, origins);
    return { set: version, created: true };
  }

  async latest(name: string): Promise<GoldenSetVersion | null> {
    return this.#latest(name);
  }

  async list(): Promise<readonly GoldenSetVersion[]> {
    const versions = this.#stored.map(({ version }) => version);
    return versions.toSorted((a, b) => (a.name === b.name ? b.version - a.version : a.name < b.name ? -1 : 1));
  }

  async origins(name: string): Promise<readonly QueryOrigin[]> {
    const own = [...(this.#origins.get(name)?.values() ?? [])];
    return own.toSorted((a, b) => (a.queryId < b.queryId ? -1 : 1));
  }

  async queries(name: string, version: number): Promise<readonly GoldenQuery[]> {
    return this.queriesOf(name, version);
  }

  async withForbidden(name: string, version: number): Promise<readonly string[]> {
    return this.queriesOf(name, version).flatMap(({ id, forbidden = [] }) => (forbidden.length > 0 ? [id] : []));
  }

  async someQueries(name: string, version: number, selection: QuerySelection): Promise<readonly GoldenQuery[]> {
    const all = this.queriesOf(name, version);
    return 'ids' in selection
      ? all.filter(({ id }) => selection.ids.includes(id))
      : all.slice(selection.from, selection.to);
  }

  /** As `queries`, at once. */
  queriesOf(name: string, version: number): readonly GoldenQuery[] {
    const found = this.#stored.find((entry) => entry.version.name === name && entry.version.version === version);
    return found?.queries ?? [];
  }

  #latest(name: string): GoldenSetVersion | null {
    return this.#stored.find(({ version }) => version.name === name)?.version ?? null;
  }
}
