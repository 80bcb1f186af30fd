/** Which of many ids a store knows, where several chunks may carry the same id. */
import { inPortions } from './sampled-vectors.ts';

/**
 * Asks in portions, and again for those that were not found while an answer was as long as it could be: the chunks
 * of one document may have filled it. Each further call finds at least one more id, so the calls are bounded by the
 * number of ids.
 *
 * @param ask ids that were found among `wanted`, one for each chunk, at most `limit` of them
 */
export async function knownIds(
  ids: readonly string[],
  portion: number,
  limit: number,
  ask: (wanted: readonly string[], limit: number) => Promise<readonly string[]>,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const wanted of inPortions([...new Set(ids)], portion)) {
    for (let open = wanted; open.length > 0; ) {
      const asked = new Set(open);
      const answer = await ask(open, limit);
      const found = answer.filter((id) => asked.has(id));
      for (const id of found) known.add(id);
      if (answer.length < limit || found.length === 0) break;
      open = open.filter((id) => !known.has(id));
    }
  }
  return known;
}
