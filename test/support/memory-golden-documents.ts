import type { GoldenDocuments, SeenDocument } from '../../src/golden/sql/golden-sets.ts';
import { NOON } from './builders.ts';

/** Texts of judged documents in memory, of one pipeline. */
export class MemoryGoldenDocuments implements GoldenDocuments {
  readonly stored = new Map<string, string>();

  async record(_pipeline: string, documents: readonly SeenDocument[]): Promise<void> {
    for (const { documentId, content } of documents) this.stored.set(documentId, content);
  }

  async seen(_pipeline: string, ids: readonly string[]) {
    const known = ids.filter((id) => this.stored.has(id));
    return new Map(known.map((id) => [id, { content: this.stored.get(id) ?? '', seenAt: NOON }] as const));
  }
}
