/** The doctor on manifests: whether the list of what an index should hold begins as it should. */
import { RecalldError } from '../../errors.ts';
import { createManifestSource } from '../../index-truth/manifest/open-manifest.ts';
import type { Standing } from '../../index-truth/rounds-table.ts';
import { readManifestLine } from '../../index-truth/rules/manifest-line.ts';
import { durationText } from '../../text/spelling.ts';
import type { Config } from '../config/schema.ts';
import type { Finding, Report } from './foundations.ts';

/**
 * Reads the first lines of each and no more, since a manifest may have millions.
 *
 * @param standings what rounds have read of them; null when the database does not answer
 */
export async function examineManifests(
  { pipelines }: Pick<Config, 'pipelines'>,
  standings: readonly Standing[] | null,
  now: Date,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const [place, { name, index }] of pipelines.entries()) {
    if (index === undefined) continue;
    const startedAt = performance.now();
    const finding = await firstLines(
      createManifestSource(index.manifest, `pipelines[${place}].index.manifest`),
      signal,
    );
    const ms = performance.now() - startedAt;
    const last = standings === null ? '' : ` ${lastRead(standings.find((one) => one.pipeline === name) ?? null, now)}`;
    report({ service: `${name} manifest`, ms, ...finding, message: `${finding.message}${last}` });
  }
}

function lastRead(standing: Standing | null, now: Date): string {
  if (standing === null || standing.readAt === null) return 'No round has read all of it yet.';
  const ago = durationText((now.getTime() - standing.readAt.getTime()) / 1000);
  return `A round last read all of it ${ago} ago: ${standing.documents ?? 0} documents that should be in the store.`;
}

async function firstLines(
  manifest: ReturnType<typeof createManifestSource>,
  signal: AbortSignal,
): Promise<Pick<Finding, 'status' | 'message'>> {
  try {
    for await (const { lines } of manifest(null, signal)) {
      const documents = lines.filter(({ text }) => text.trim() !== '').map(readManifestLine);
      if (documents.length === 0) continue;
      const told = (['updatedAt', 'hash', 'segment'] as const).filter((key) => documents[0]?.[key] !== null);
      const more = told.length === 0 ? 'only ids' : told.map((key) => says[key]).join(', ');
      return { status: 'ok', message: `Its first ${documents.length} documents can be read; the first says ${more}.` };
    }
    return { status: 'wrong', message: 'It names no document; look why it is empty.' };
  } catch (error) {
    if (signal.aborted || !(error instanceof RecalldError)) throw error;
    return { status: error.kind === 'unreachable' ? 'unreachable' : 'wrong', message: error.message };
  }
}

const says = { updatedAt: 'updated_at', hash: 'its hash', segment: 'its segment' } as const;
