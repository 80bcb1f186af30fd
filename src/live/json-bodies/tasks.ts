/** What the thread that reads large JSON bodies can be asked. */

import { parseJson } from '../../http/json-body.ts';
import { cut, pack, weightOfFeedback, weightOfQuery } from '../parts.ts';
import { readFeedback } from '../schema/feedback.ts';
import type { ParsedItems } from '../schema/items.ts';
import { readLiveQueries } from '../schema/live-query.ts';

export const tasks = {
  queries: (json: readonly Uint8Array[]) => inPackedParts(readLiveQueries(valueOf(json)), weightOfQuery),
  feedback: (json: readonly Uint8Array[]) => inPackedParts(readFeedback(valueOf(json)), weightOfFeedback),
} as const;

function valueOf(json: readonly Uint8Array[]): unknown {
  const utf8 = new TextDecoder();
  return parseJson(json.map((piece) => utf8.decode(piece, { stream: true })).join('') + utf8.decode());
}

/** What was refused is told with the first part, and there is always one. */
function inPackedParts<Item>(
  { items, positions, rejected }: ParsedItems<Item>,
  weightOf: (item: Item) => number,
): Uint8Array[] {
  const parts = items.length === 0 ? [[]] : cut(items, weightOf);
  let next = 0;
  return parts.map((part, index) => {
    const from = next;
    next += part.length;
    return pack({
      items: part,
      positions: positions.slice(from, next),
      rejected: index === 0 ? rejected : [],
    } satisfies ParsedItems<Item>);
  });
}
