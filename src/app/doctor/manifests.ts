/** The doctor on manifests: whether the list of what an index should hold begins as it should. */
import { RecalldError } from '../../errors.ts';
import { createManifestSource } from '../../index-truth/manifest/open-manifest.ts';
import { readManifestLine } from '../../index-truth/rules/manifest-line.ts';
import type { Config } from '../config/schema.ts';
import type { Finding, Report } from './foundations.ts';

/** Reads the first lines of each and no more, since a manifest may have millions. */
export async function examineManifests(
  { pipelines }: Pick<Config, 'pipelines'>,
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
    report({ service: `${name} manifest`, ms: performance.now() - startedAt, ...finding });
  }
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
