/** Proposals to move judgments from documents that are gone to the chunks that took their place. */
import type { GoldenQuery, Judgment } from '../../../model.ts';
import type { StaleLabel } from '../label-probe.ts';
import type { Anchor, AnchorEvidence } from './reanchor.ts';

/** To be accepted by a person, by its number. */
export interface LabelProposal {
  /** From 1; the same for the same set and store. */
  readonly number: number;
  readonly queryId: string;
  readonly from: string;
  /** In their place; more than one when the document was cut. */
  readonly to: readonly { readonly documentId: string; readonly evidence: AnchorEvidence }[];
  readonly grade: number;
}

/** A proposal for each stale label whose document has an anchor, in the order of the labels. */
export function proposeLabels(
  labels: readonly StaleLabel[],
  anchors: ReadonlyMap<string, readonly Anchor[]>,
): LabelProposal[] {
  return labels
    .flatMap(({ queryId, documentId, grade }) => {
      const to = anchors.get(documentId) ?? [];
      return to.length === 0 ? [] : [{ queryId, from: documentId, to, grade }];
    })
    .map((proposal, index) => ({ number: index + 1, ...proposal }));
}

/**
 * The queries with the accepted proposals carried out: the judgment of the lost document goes, its grade passes to the
 * chunks in its place. A chunk that has a judgment keeps the higher of the two grades.
 */
export function applyProposals(
  queries: readonly GoldenQuery[],
  accepted: readonly LabelProposal[],
): GoldenQuery[] {
  const byQuery = new Map<string, LabelProposal[]>();
  for (const proposal of accepted) {
    byQuery.set(proposal.queryId, [...(byQuery.get(proposal.queryId) ?? []), proposal]);
  }
  return queries.map((query) => {
    const own = byQuery.get(query.id) ?? [];
    return own.length === 0 ? query : { ...query, judgments: moved(query.judgments, own) };
  });
}

function moved(judgments: readonly Judgment[], proposals: readonly LabelProposal[]): Judgment[] {
  const gone = new Set(proposals.map(({ from }) => from));
  const grades = new Map(
    judgments
      .filter(({ documentId }) => !gone.has(documentId))
      .map((judgment) => [judgment.documentId, judgment.grade]),
  );
  for (const { to, grade } of proposals) {
    for (const { documentId } of to) grades.set(documentId, Math.max(grade, grades.get(documentId) ?? 0));
  }
  return Array.from(grades, ([documentId, grade]) => ({ documentId, grade }));
}
