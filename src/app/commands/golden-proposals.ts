import { readText } from '../../adapters/files/text-file.ts';
import { parseAcceptedProposals } from '../../contracts/golden-proposals.ts';
import { RecalldError } from '../../core/errors.ts';
import type { Acceptance } from '../../core/golden/check/accept-proposals.ts';

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
