/** Looks a golden set over: labels, duplicates, contradictions, size, and how well it stands for live traffic. */
import type { LiveSamples } from '../../live/ports/live-samples.ts';
import type { GoldenQuery } from '../../model.ts';
import { probeStoredLabels } from '../../probes/probe-labels.ts';
import type { ProbedPipeline } from '../../probes/probes.ts';
import { findJudgmentProblems, type JudgmentProblems } from '../rules/judgment-problems.ts';
import { type LabelProbe, type LabelProposal, proposeLabels } from '../rules/labels.ts';
import { findLostDocuments, type LostDocuments } from './find-lost-documents.ts';
import { liveMixOf, type RepresentativenessOutcome } from './golden-representativeness.ts';
import {
  type RecordDocumentsDeps,
  type RecordedDocuments,
  recordJudgedDocuments,
} from './record-judged-documents.ts';

export interface CheckGoldenSetDeps extends RecordDocumentsDeps {
  readonly samples: LiveSamples;
}

export interface GoldenSetCheck {
  readonly labels: LabelProbe;
  readonly problems: JudgmentProblems;
  readonly lost: LostDocuments;
  readonly proposals: readonly LabelProposal[];
  readonly recorded: RecordedDocuments;
  readonly representativeness: RepresentativenessOutcome;
}

/**
 * Works with what there is: without a store, an embedder or live queries the parts that need them say why they are
 * missing.
 *
 * @param since live queries are taken from then on
 */
export async function checkGoldenSet(
  deps: CheckGoldenSetDeps,
  pipeline: ProbedPipeline,
  queries: readonly GoldenQuery[],
  { relevanceLevel, since }: { readonly relevanceLevel: number; readonly since: Date },
  signal: AbortSignal,
): Promise<GoldenSetCheck> {
  const labels = await probeStoredLabels(queries, relevanceLevel, pipeline.store, signal);
  const recorded = await recordJudgedDocuments(deps, pipeline, queries, signal);
  const stale = labels.kind === 'probed' ? labels.labels : [];
  const gone = [...new Set(stale.map(({ documentId }) => documentId))];
  const lost = await findLostDocuments(deps.documents, pipeline, gone, signal);
  return {
    labels,
    problems: findJudgmentProblems(queries, relevanceLevel),
    lost,
    proposals: proposeLabels(stale, lost.anchors),
    recorded,
    representativeness: await liveMixOf(deps.samples, pipeline, queries, since, signal),
  };
}

/** Whether something is wrong that a person should mend; size and live traffic are advice. */
export function hasProblems({ labels, problems }: GoldenSetCheck): boolean {
  const { duplicates, contradictions, withoutRelevant } = problems;
  const stale = labels.kind === 'probed' ? labels.stale : 0;
  return stale + duplicates.length + contradictions.length + withoutRelevant.length > 0;
}
