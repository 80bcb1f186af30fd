/** Which of the programs whose judgments recalld reads has written a file, by what it begins with. */
import type { ForeignFormat } from './golden-set.ts';

/**
 * @param extension with its dot, in small letters
 * @param head some kilobytes from the beginning of the file
 * @returns null for a file that is not plainly of one of them
 */
export function foreignFormatOf(extension: string, head: string): ForeignFormat | null {
  const text = head.replace(/^\uFEFF/, '').trimStart();
  const first = text.slice(0, 1);
  if (extension === '.json' && (first === '{' || first === '[')) {
    if (/"query_doc_pairs"\s*:/.test(text)) return 'quepid';
    if (/"judgmentRatings"\s*:/.test(text)) return 'ubi';
    return isRagas(text) ? 'ragas' : null;
  }
  if (extension === '.jsonl' || extension === '.ndjson') return first === '{' && isRagas(text) ? 'ragas' : null;
  if (extension !== '.csv') return null;
  const names = (/^[^\r\n]*/.exec(text)?.[0] ?? '').split(',').map((name) => name.trim().replaceAll('"', ''));
  if (names[0] === 'query' && names[1] === 'docid') return 'quepid';
  return names.includes('user_input') && names.includes('reference_contexts') ? 'ragas' : null;
}

/** Both, since a record of a chat may have a `user_input` too. */
function isRagas(text: string): boolean {
  return /"user_input"\s*:/.test(text) && /"reference_context(s|_ids)"\s*:/.test(text);
}
