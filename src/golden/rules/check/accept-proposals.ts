/** Which of the proposals a person accepted. */
import type { LabelProposal } from './label-proposals.ts';

/** What was accepted: a proposal, perhaps without some of its chunks. */
export interface Acceptance {
  readonly queryId: string;
  readonly from: string;
  readonly to: readonly string[];
}

export interface AcceptedProposals {
  readonly accepted: readonly LabelProposal[];
  /** Accepted, but proposed no more: the set or the store has changed since. */
  readonly unknown: readonly Acceptance[];
}

/** Takes of each accepted proposal the chunks that were accepted and are still proposed. */
export function matchAcceptances(
  proposals: readonly LabelProposal[],
  acceptances: readonly Acceptance[],
): AcceptedProposals {
  const byLabel = new Map(proposals.map((proposal) => [key(proposal.queryId, proposal.from), proposal]));
  const accepted: LabelProposal[] = [];
  const unknown: Acceptance[] = [];
  for (const acceptance of acceptances) {
    const proposal = byLabel.get(key(acceptance.queryId, acceptance.from));
    const to = proposal?.to.filter(({ documentId }) => acceptance.to.includes(documentId)) ?? [];
    if (proposal === undefined || to.length < acceptance.to.length) unknown.push(acceptance);
    else accepted.push({ ...proposal, to });
  }
  return { accepted, unknown };
}

function key(queryId: string, from: string): string {
  return JSON.stringify([queryId, from]);
}
