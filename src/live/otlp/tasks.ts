/** What the thread that reads large bodies can be asked. */
import { pack } from '../parts.ts';
import type { OtlpContent } from './content.ts';
import { type LogsRead, readLogs, readTraces, type TracedPipeline, type TracesRead } from './extraction.ts';
import { type Found, inParts } from './parts.ts';

export interface ReadingInput {
  readonly content: OtlpContent;
  readonly pipelines: readonly TracedPipeline[];
}

/** What was counted, and what was found in packed parts. */
export type Packed<Read> = Omit<Read, keyof Found> & { readonly parts: readonly Uint8Array[] };

export const tasks = {
  traces({ content, pipelines }: ReadingInput): Packed<TracesRead> {
    const { queries, fragments, feedback, ...counts } = readTraces(content, pipelines);
    return { ...counts, parts: inParts({ queries, fragments, feedback }).map(pack) };
  },
  logs({ content, pipelines }: ReadingInput): Packed<LogsRead> {
    const { feedback, ...counts } = readLogs(content, pipelines);
    return { ...counts, parts: inParts({ queries: [], fragments: [], feedback }).map(pack) };
  },
} as const;
