/** Result file of `bench/ingest-memory.ts`. */
import path from 'node:path';
import type { Provenance } from '../result-file.ts';

export interface Phase {
  readonly what: string;
  readonly queriesPerSecond: number;
  /** Number of requests that recalld refused with 503. */
  readonly shed: number;
  /** Resident set size in MB at the end of each tenth of the test. */
  readonly residentMb: readonly number[];
  /** Maximum resident set size in MB, sampled ten times a second. */
  readonly peakMb: number;
}

export interface IngestMemoryResult {
  readonly provenance: Provenance;
  /** Load average of the machine in the minute before the start. */
  readonly load: number;
  readonly promisedMb: number;
  readonly idleMb: number;
  readonly phases: readonly Phase[];
  /** Number of queries that recalld accepted with 202. */
  readonly accepted: number;
  /** Number of queries in the database. */
  readonly counted: number;
}

export const memoryFile = path.resolve(import.meta.dirname, '../results/ingest-memory.json');
