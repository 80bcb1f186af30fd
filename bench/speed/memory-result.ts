/** What `bench/ingest-memory.ts` writes down. */
import path from 'node:path';
import type { Provenance } from '../result-file.ts';

export interface Phase {
  readonly what: string;
  readonly queriesPerSecond: number;
  /** Requests that were answered 503. */
  readonly shed: number;
  /** Resident set in MB after each tenth of the time. */
  readonly residentMb: readonly number[];
  /** Of what was looked at ten times a second. */
  readonly peakMb: number;
}

export interface IngestMemoryResult {
  readonly provenance: Provenance;
  /** Load average of the machine over the minute before the start. */
  readonly load: number;
  readonly promisedMb: number;
  readonly idleMb: number;
  readonly phases: readonly Phase[];
  /** Queries that were answered 202, and those that the database has counted. */
  readonly accepted: number;
  readonly counted: number;
}

export const memoryFile = path.resolve(import.meta.dirname, '../results/ingest-memory.json');
