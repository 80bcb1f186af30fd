/** A golden set looked over by hand, and its labels mended as a person accepts. */

import { RecalldError } from '../../errors.ts';
import { sha256 } from '../../golden/files/source-files.ts';
import type { GoldenSetVersion } from '../../golden/rules/golden-set.ts';
import { applyProposals, type LabelProposal } from '../../golden/rules/labels.ts';
import { checkGoldenSet, type GoldenSetCheck } from '../../golden/sets/check-golden-set.ts';
import type { GoldenQuery } from '../../model.ts';
import { systemClock } from '../../system-clock.ts';
import { scheduleOf } from '../pipelines.ts';
import type { CommandSettings, CommandStore } from './command-store.ts';
import { findVersion } from './golden-sets.ts';
import { withPipeline } from './with-pipeline.ts';

const WEEK_MS = 7 * 86_400_000;

export { hasProblems } from '../../golden/sets/check-golden-set.ts';
export type { RepresentativenessOutcome } from '../../golden/sets/golden-representativeness.ts';

export interface CheckedSet {
  readonly set: GoldenSetVersion;
  readonly queries: readonly GoldenQuery[];
  readonly check: GoldenSetCheck;
}

/** @throws RecalldError pipeline_unknown, golden_set_unknown, golden_set_empty */
export async function checkSet(
  settings: CommandSettings,
  store: CommandStore,
  request: { readonly pipeline: string; readonly set: string },
): Promise<CheckedSet> {
  return withPipeline(settings, request.pipeline, async (pipeline) => {
    const set = await findVersion(store.sets, request.set);
    const queries = await store.sets.queries(set.name, set.version);
    if (queries.length === 0) {
      throw new RecalldError('golden_set_empty', `${set.name} version ${set.version} holds no queries.`);
    }
    const { relevanceLevel } = scheduleOf(pipeline, set.name).settings;
    const since = new Date(Date.now() - WEEK_MS);
    const deps = { ...store, clock: systemClock };
    const check = await checkGoldenSet(deps, pipeline, queries, { relevanceLevel, since }, settings.signal);
    return { set, queries, check };
  });
}

/**
 * Writes a new version with the accepted proposals; the old version stays as it is.
 *
 * @throws RecalldError golden_set_changed when the set got another version meanwhile
 */
export async function mendLabels(
  { sets }: Pick<CommandStore, 'sets'>,
  { set, queries }: Pick<CheckedSet, 'set' | 'queries'>,
  accepted: readonly LabelProposal[],
): Promise<GoldenSetVersion> {
  const latest = await findVersion(sets, set.name);
  if (latest.version !== set.version) {
    throw new RecalldError(
      'golden_set_changed',
      `${set.name} has got version ${latest.version} meanwhile, but version ${set.version} was checked; check again.`,
    );
  }
  const mended = applyProposals(queries, accepted);
  const moved = accepted.length === 1 ? '1 judgment was' : `${accepted.length} judgments were`;
  const added = await sets.add(
    {
      name: set.name,
      contentHash: sha256(JSON.stringify(['mended', mended])),
      format: set.format,
      origin: set.origin,
      note: `From version ${set.version}: ${moved} moved from lost documents to the chunks in their place.`,
      queries: mended,
    },
    new Date(),
  );
  return added.set;
}
