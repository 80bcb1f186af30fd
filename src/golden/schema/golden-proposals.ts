/** The file with which a person accepts proposals: what `golden check --json` printed, without the refused ones. */
import { z } from 'zod';
import type { Acceptance } from '../rules/labels.ts';

const proposalSchema = z.object({
  query_id: z.string(),
  from: z.string(),
  to: z.array(z.object({ document_id: z.string() })).min(1),
});

const fileSchema = z.union([z.array(proposalSchema), z.object({ proposals: z.array(proposalSchema) })]);

/** Null for what is neither a list of proposals nor the output of a check. */
export function parseAcceptedProposals(value: unknown): Acceptance[] | null {
  const result = fileSchema.safeParse(value);
  if (!result.success) return null;
  const proposals = Array.isArray(result.data) ? result.data : result.data.proposals;
  return proposals.map(({ query_id: queryId, from, to }) => ({
    queryId,
    from,
    to: to.map((chunk) => chunk.document_id),
  }));
}
