/** What a manifest is read as, wherever it comes from. */
import type { SourceLine } from '../../text/source-line.ts';

/** Some lines of a manifest. */
export interface ManifestPart {
  readonly lines: readonly SourceLine[];
  /** Where reading goes on behind them; null where it can only begin anew. */
  readonly next: string | null;
}

/**
 * Reads all of it, in bounded memory: nothing is asked for before what came is stored.
 *
 * @param from where to go on; what is no such place, or no longer one, begins anew
 * @throws RecalldError manifest_unreadable, file_unreadable, file_malformed; and the reason of `signal`
 */
export type ManifestSource = (from: string | null, signal: AbortSignal) => AsyncIterable<ManifestPart>;
