/** A manifest that an endpoint gives page by page. */
import { RecalldError } from '../../errors.ts';
import { at, createJsonApi, type JsonApiSettings, textOf } from '../../outbound/json-api.ts';
import type { ManifestPart } from './source.ts';

/** Follows `next_cursor`, which goes back as the parameter `cursor`, until it is null or left out. */
export async function* readPages(
  settings: JsonApiSettings,
  from: string | null,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  const api = createJsonApi(settings);
  try {
    for (let cursor = from, line = 1; ; ) {
      const query: Record<string, string> = cursor === null ? {} : { cursor };
      const answer = await api.call({ method: 'GET', path: '', query, purpose: 'page' }, signal);
      if (answer.kind === 'failed') throw new RecalldError('manifest_unreadable', answer.message);
      const items = at(answer.json, 'items');
      if (!Array.isArray(items)) {
        const wayOut = `make ${settings.configField}.url answer {"items": [...], "next_cursor": ...}`;
        throw new RecalldError('manifest_unreadable', `The manifest page has no list "items"; ${wayOut}.`);
      }
      const first = line;
      const lines = items.map((item, place) => ({
        file: `the manifest of ${settings.configField}`,
        line: first + place,
        text: JSON.stringify(item),
      }));
      line += lines.length;
      const next = textOf(at(answer.json, 'next_cursor'));
      if (next !== null && next === cursor) {
        throw new RecalldError('manifest_unreadable', `The manifest gives the cursor of the same page again.`);
      }
      cursor = next;
      yield { lines, next };
      if (next === null || next === '') return;
    }
  } finally {
    api.close();
  }
}
