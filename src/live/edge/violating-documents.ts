import type { Violation } from '../rules/isolation.ts';

/** Lists documents with their ranks: `beta/7 (2), beta/8 (3) and 12 more`. */
export function violatingDocuments({
  documents,
  documentCount,
}: Pick<Violation, 'documents' | 'documentCount'>): string {
  const named = documents.map(({ id, rank }) => `${id} (${rank})`).join(', ');
  return documentCount > documents.length ? `${named} and ${documentCount - documents.length} more` : named;
}
