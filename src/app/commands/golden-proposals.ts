import { RecalldError } from '../../errors.ts';
import { readText } from '../../files/text-file.ts';
import type { Acceptance } from '../../golden/rules/labels.ts';
import { parseAcceptedProposals } from '../../golden/schema/golden-proposals.ts';

/** @throws RecalldError file_unreadable, file_malformed */
export async function readAcceptances(path: string): Promise<Acceptance[]> {
  const text = await readText(path);
  const parsed = parseAcceptedProposals(jsonOf(text));
  if (parsed !== null) return parsed;
  throw new RecalldError(
    'file_malformed',
    `${path} is not what \`golden check --json\` prints; keep its form and remove the proposals that you refuse.`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
