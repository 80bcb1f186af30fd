/** What an export is made of, and how a format says that it cannot hold something. */
import { RecalldError } from '../../../errors.ts';
import { quoted } from '../../../text/source-line.ts';

/** A file of an export. */
export interface ExportFile {
  /** Under the folder of the export, or null when the export is this one file. */
  readonly path: string | null;
  /** Ends with a line feed. */
  readonly text: string;
}

/** The error for what the format would lose or change; `problem` follows `The query "q1"`. */
export function cannotHold(format: string, queryId: string, problem: string, wayOut: string): RecalldError {
  return new RecalldError(
    'export_impossible',
    `${format} cannot hold the query ${quoted(queryId)}: ${problem}; ${wayOut}.`,
  );
}

/** Lines as text. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
