/** Labels that went stale, and what people accept in their place, within the daemon. */
import { RecalldError } from '../../errors.ts';
import type { FoundFixes } from '../../golden/pages/labels-page.tsx';
import { matchAcceptances, proposeLabels } from '../../golden/rules/labels.ts';
import { findLostDocuments } from '../../golden/sets/find-lost-documents.ts';
import { createGoldenDocuments } from '../../golden/sql/golden-documents.ts';
import { probeStoredLabels } from '../../probes/probe-labels.ts';
import type { ConsoleDeps } from '../console/deps.ts';
import type { Dependencies } from '../dependencies.ts';
import { findPipeline, scheduleOf } from '../pipelines.ts';
import { mendLabels } from './golden-check.ts';
import { findVersion } from './golden-sets.ts';

/** Longest that a person waits for the store and the embedder. */
const PATIENCE_MS = 25_000;

export function createLabelFixes(
  dependencies: Dependencies,
): Pick<ConsoleDeps, 'findLabelFixes' | 'acceptLabelFixes'> {
  const { pipelines, sets, storage } = dependencies;
  const documents = createGoldenDocuments(storage.pool);

  const find = async (name: string, goldenSet: string) => {
    const pipeline = findPipeline(pipelines, name);
    const set = await findVersion(sets, goldenSet);
    const queries = await sets.queries(set.name, set.version);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { relevanceLevel } = scheduleOf(pipeline, goldenSet).settings;
    const probe = await probeStoredLabels(queries, relevanceLevel, pipeline.store, signal);
    const labels = probe.kind === 'probed' ? probe.labels : [];
    const gone = [...new Set(labels.map(({ documentId }) => documentId))];
    const lost = await findLostDocuments(documents, pipeline, gone, signal);
    const gap = probe.kind === 'unknown' ? probe.reason : lost.gap;
    const proposals = proposeLabels(labels, lost.anchors);
    const found: FoundFixes = { version: set.version, proposals, gap, stale: gone.length };
    return { set, queries, found };
  };

  return {
    findLabelFixes: async (pipeline, goldenSet) => (await find(pipeline, goldenSet)).found,

    async acceptLabelFixes(pipeline, goldenSet, version, acceptances) {
      const { set, queries, found } = await find(pipeline, goldenSet);
      const { accepted, unknown } = matchAcceptances(found.proposals, acceptances);
      if (set.version !== version || unknown.length > 0) {
        throw new RecalldError(
          'golden_set_changed',
          `${goldenSet} or the store has changed since the proposals were made; look for them again.`,
        );
      }
      await mendLabels({ sets }, { set, queries }, accepted);
    },
  };
}
