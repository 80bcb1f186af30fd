/** Reads the manifest into the database: in bounded memory, and from where it was when the process that read it ended. */
import { RecalldError } from '../errors.ts';
import type { IndexDeps, IndexPlan } from './plan.ts';
import type { Round } from './rounds-table.ts';
import { readManifestLine } from './rules/manifest-line.ts';

/** Where reading stands, as the position of a round. */
interface ReadPosition {
  readonly since: string;
  readonly next: string | null;
  readonly lines: number;
}

/** New versions that are waited for, of each reading. */
const MAX_ARRIVALS = 200;

/**
 * @param keep stores where reading stands
 * @throws RecalldError as ManifestSource, and manifest_unreadable for one without a document
 */
export async function readManifest(
  { indexDocuments: documents, indexRounds: rounds, clock, logger }: IndexDeps,
  { pipeline, manifest, tellsVersions }: Pick<IndexPlan, 'pipeline' | 'manifest' | 'tellsVersions'>,
  round: Round,
  keep: (position: unknown) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const before = round.position as ReadPosition | null;
  // Lines that a crash of the database has taken are read again.
  const goesOn = before !== null && before.next !== null && (await documents.countLines(pipeline)) > 0;
  if (!goesOn) await documents.forgetLines(pipeline);
  const read = goesOn ? new Date(before.since) : clock.now();
  let lines = goesOn ? before.lines : 0;
  try {
    for await (const part of manifest(goesOn ? before.next : null, signal)) {
      signal.throwIfAborted();
      await documents.keepLines(pipeline, part.lines.filter(({ text }) => text.trim() !== '').map(readManifestLine));
      lines += part.lines.length;
      await keep({ since: read.toISOString(), next: part.next, lines } satisfies ReadPosition);
    }
  } catch (error) {
    // What could not be gone on with begins anew the next time.
    if (!signal.aborted) await keep(null);
    throw error;
  }
  if ((await documents.countLines(pipeline)) === 0) {
    await keep(null);
    const problem = 'An index without documents would have nothing to lose: look why it is empty.';
    throw new RecalldError('manifest_unreadable', `The manifest of ${pipeline} names no document. ${problem}`);
  }
  const change = await documents.accept(pipeline, {
    read,
    before: round.readAt,
    mostArrivals: MAX_ARRIVALS,
    tellsVersions,
  });
  await rounds.manifestRead(pipeline, read, change.documents);
  logger.info('the manifest of an index was read', { pipeline, ...change });
}
