import type { GoldenDocuments, SeenDocument } from '../../src/golden/sql/golden-documents.ts';

/** Texts of judged documents in memory, of one pipeline. */
export class MemoryGoldenDocuments implements GoldenDocuments {
  readonly stored = new Map<string, string>();

  async record(_pipeline: string, documents: readonly SeenDocument[]): Promise<void> {
    for (const { documentId, content } of documents) this.stored.set(documentId, content);
  }

  async texts(_pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return new Map(ids.flatMap((id) => (this.stored.has(id) ? [[id, this.stored.get(id) ?? ''] as const] : [])));
  }
}
