/** Recordings of real tracing programs: what they exported, and what they retrieved. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { UnreadableReason } from '../../../src/live/rules/otel/unreadable-retriever.ts';

/** A request of an OTLP exporter. */
export interface ExportRequest {
  readonly path: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** The body as sent, in base64. */
  readonly body: string;
}

/** A retrieval as the program itself recorded it. */
export interface Retrieval {
  readonly case: string;
  readonly query: string;
  /** Best first; null for ids and scores that the framework does not have. */
  readonly results: readonly { readonly id: string | null; readonly text: string; readonly score: number | null }[];
  /** Class of the exception. */
  readonly error: string | null;
  readonly session: string | null;
}

/**
 * `error` is the class of an exception; if it is missing, the export shows only that the retrieval failed. If `failure`
 * is missing, a failed retrieval is not exported at all.
 */
export type TracedField = 'id' | 'score' | 'session' | 'error' | 'failure';

export interface Recording {
  readonly name: string;
  readonly framework: string;
  readonly instrumentation: string;
  /** See `Combination`. */
  readonly switchedOn: string;
  readonly missing: readonly TracedField[];
  /** Names of the tools that search, which the config must list. */
  readonly tools?: readonly string[];
  /** Reason why recalld cannot store the retrievals of this combination; missing if it can store them. */
  readonly reason?: UnreadableReason;
  /** Day of the recording. */
  readonly date: string;
  /** Python or Node.js, with its version. */
  readonly runtime: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly retrievals: readonly Retrieval[];
  readonly requests: readonly ExportRequest[];
}

const folder = path.resolve(import.meta.dirname, '../../fixtures/interop/tracing');

/** Returns all recordings, ordered by name. */
export function readRecordings(): readonly Recording[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json.gz'))
    .toSorted()
    .map((name) => JSON.parse(gunzipSync(readFileSync(path.join(folder, name))).toString('utf8')) as Recording);
}

export function writeRecording(recording: Recording): void {
  writeFileSync(path.join(folder, `${recording.name}.json.gz`), gzipSync(JSON.stringify(recording), { level: 9 }));
}
