import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import { type Acceptance, applyProposals, type LabelProposal, matchAcceptances } from '../rules/labels.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { findPipeline, scheduleOf } from '../watched-pipeline.ts';
import type { CheckedSet } from './check-golden-set.ts';
import { findVersion, sha256 } from './import-golden-set.ts';
import { findReplacements } from './missing-documents.ts';

/** Maximum time that the stale-labels page waits for the store and the embedder. */
const PATIENCE_MS = 25_000;

export type FoundFixes = Awaited<ReturnType<typeof findLabelFixes>>;

/**
 * Searches the store for chunks that replaced missing judged documents. A person then reviews these chunks on a page.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown
 */
export async function findLabelFixes(context: Context, name: string, goldenSet: string) {
  const { pipelines, db } = context;
  const pipeline = findPipeline(pipelines, name);
  const set = await findVersion(db.golden.sets, goldenSet);
  const queries = await db.golden.sets.queries(set.name, set.version);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const { relevanceLevel } = scheduleOf(pipeline, goldenSet).settings;
  const { labels, missing, lost, proposals } = await findReplacements(
    context,
    pipeline,
    queries,
    relevanceLevel,
    signal,
  );
  return {
    /** The version that was checked, with its queries. */
    set,
    queries,
    proposals,
    /** Explains in one sentence why the store could not be searched, or why the search ended early; otherwise null. */
    gap: labels.kind === 'unknown' ? labels.reason : lost.gap,
    /** Number of missing judged documents. */
    stale: missing.length,
  };
}

/**
 * Adds a version of the set with the accepted proposals.
 *
 * @param version set version for which the proposals were made
 * @param by name of the user who accepts the proposals, for the audit log
 * @throws RecalldError golden_set_changed if the set or the store has changed since the proposals were made
 */
export async function acceptLabelFixes(
  context: Context,
  pipeline: string,
  goldenSet: string,
  version: number,
  acceptances: readonly Acceptance[],
  by: string,
): Promise<void> {
  const found = await findLabelFixes(context, pipeline, goldenSet);
  const { accepted, unknown } = matchAcceptances(found.proposals, acceptances);
  if (found.set.version !== version || unknown.length > 0) {
    throw new RecalldError(
      'golden_set_changed',
      `${goldenSet} or the store has changed since the proposals were made. Load the proposals again.`,
    );
  }
  await repairJudgments(context.dbBy(by).golden.sets, found, accepted);
}

/**
 * Adds a version of the set with the accepted proposals. The old version remains unchanged.
 *
 * @throws RecalldError golden_set_changed if the set has a newer version
 * @throws RecalldError golden_set_empty if no query would have a relevant document
 */
export async function repairJudgments(
  sets: GoldenSets,
  { set, queries }: { readonly set: GoldenSetVersion; readonly queries: CheckedSet['queries'] },
  accepted: readonly LabelProposal[],
): Promise<GoldenSetVersion> {
  const latest = await findVersion(sets, set.name);
  if (latest.version !== set.version) {
    throw new RecalldError(
      'golden_set_changed',
      `Version ${set.version} of ${set.name} was checked, but version ${latest.version} exists now. Check the set again.`,
    );
  }
  const repaired = applyProposals(queries, accepted);
  if (repaired.length === 0) {
    throw new RecalldError(
      'golden_set_empty',
      `All relevant documents of ${set.name} were deleted, so no query would remain. Import a set with judgments of existing documents.`,
    );
  }
  const added = await sets.add(
    {
      name: set.name,
      contentHash: sha256(JSON.stringify(['repaired', repaired])),
      format: set.format,
      origin: set.origin,
      note: `From version ${set.version}: ${changesOf(accepted, queries.length - repaired.length)}.`,
      queries: repaired,
      act: 'accept_labels',
    },
    new Date(),
  );
  return added.set;
}

/** Describes what the accepted proposals changed, such as "2 judgments were moved from missing documents to ...". */
function changesOf(accepted: readonly LabelProposal[], removedQueries: number): string {
  const removed = accepted.filter(({ to }) => to.length === 0).length;
  const moved = accepted.length - removed;
  return [
    moved > 0 && `${judgmentsWere(moved)} moved from missing documents to the chunks that replaced them`,
    removed > 0 && `${judgmentsWere(removed)} removed, because the manifest lists the documents as deleted`,
    removedQueries > 0 &&
      `${removedQueries === 1 ? '1 query was' : `${removedQueries} queries were`} removed, because no relevant document remained`,
  ]
    .filter((change) => change !== false)
    .join('; ');
}

function judgmentsWere(n: number): string {
  return n === 1 ? '1 judgment was' : `${n} judgments were`;
}
