/** Finds the golden set that a person named. */
import { RecalldError } from '../../errors.ts';
import type { GoldenSetVersion } from '../../golden/rules/golden-set.ts';
import type { GoldenSets } from '../../golden/sql/golden-sets.ts';

/**
 * The latest version, or the one that is asked for.
 *
 * @throws RecalldError golden_set_unknown
 */
export async function findVersion(
  sets: GoldenSets,
  name: string,
  version?: number,
): Promise<GoldenSetVersion> {
  const latest = await sets.latest(name);
  if (latest === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${name}"; \`recalld golden list\` shows those that exist.`,
    );
  }
  if (version === undefined || version === latest.version) return latest;
  const found = (await sets.list()).find((set) => set.name === name && set.version === version);
  if (found !== undefined) return found;
  throw new RecalldError(
    'golden_set_unknown',
    `The golden set "${name}" has no version ${version}; its latest is ${latest.version}.`,
  );
}
