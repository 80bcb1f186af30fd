/** Labels that went stale, and what people accept in their place. */
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import {
  type Acceptance,
  applyProposals,
  type LabelProposal,
  matchAcceptances,
  proposeLabels,
} from '../rules/labels.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { findPipeline, scheduleOf } from '../watched-pipeline.ts';
import type { CheckedSet } from './check-golden-set.ts';
import { findLostDocuments, probeStoredLabels } from './gone-documents.ts';
import { findVersion, sha256 } from './import-golden-set.ts';

export interface FoundFixes {
  /** Of the set that was looked over. */
  readonly version: number;
  readonly proposals: readonly LabelProposal[];
  /** Why nobody could look, or why the search ended early; one sentence. */
  readonly gap: string | null;
  readonly stale: number;
}

/** Longest that a person waits for the store and the embedder. */
const PATIENCE_MS = 25_000;

export type LabelFixes = ReturnType<typeof createLabelFixes>;

/** Within the daemon, where a person looks for fixes on one page and accepts them with the next. */
export function createLabelFixes(context: Context) {
  const { pipelines, db, dbBy } = context;
  const find = async (name: string, goldenSet: string) => {
    const pipeline = findPipeline(pipelines, name);
    const set = await findVersion(db.golden.sets, goldenSet);
    const queries = await db.golden.sets.queries(set.name, set.version);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { relevanceLevel } = scheduleOf(pipeline, goldenSet).settings;
    const probe = await probeStoredLabels(context, pipeline, queries, relevanceLevel, signal);
    const labels = probe.kind === 'probed' ? probe.labels : [];
    const gone = [...new Set(labels.map(({ documentId }) => documentId))];
    const lost = await findLostDocuments(db.golden.documents, pipeline, gone, signal);
    const gap = probe.kind === 'unknown' ? probe.reason : lost.gap;
    const proposals = proposeLabels(labels, lost.anchors);
    const found: FoundFixes = { version: set.version, proposals, gap, stale: gone.length };
    return { set, queries, found };
  };

  return {
    /**
     * Looks in the store for what took the place of judged documents that are gone.
     *
     * @throws RecalldError pipeline_unknown, golden_set_unknown
     */
    async findLabelFixes(pipeline: string, goldenSet: string): Promise<FoundFixes> {
      return (await find(pipeline, goldenSet)).found;
    },

    /**
     * Makes a new version of the set with what was accepted.
     *
     * @param version of the set that the proposals were made for
     * @param by who accepts them, for the audit log
     * @throws RecalldError golden_set_changed when they would not be made now
     */
    async acceptLabelFixes(
      pipeline: string,
      goldenSet: string,
      version: number,
      acceptances: readonly Acceptance[],
      by: string,
    ): Promise<void> {
      const { set, queries, found } = await find(pipeline, goldenSet);
      const { accepted, unknown } = matchAcceptances(found.proposals, acceptances);
      if (set.version !== version || unknown.length > 0) {
        throw new RecalldError(
          'golden_set_changed',
          `${goldenSet} or the store has changed since the proposals were made; look for them again.`,
        );
      }
      await repairLabels(dbBy(by).golden.sets, { set, queries }, accepted);
    },
  };
}

/**
 * Writes a new version with the accepted proposals; the old version stays as it is.
 *
 * @throws RecalldError golden_set_changed when the set got another version meanwhile
 */
export async function repairLabels(
  sets: GoldenSets,
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
      act: 'accept_labels',
    },
    new Date(),
  );
  return added.set;
}
