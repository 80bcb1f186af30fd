/** Exports of a Collector, configured as in deploy/otel-collector, for the recordings of tracing programs. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ExportRequest, Recording } from '../tracing/recording.ts';

export interface CollectorRecording {
  /** Day of the recording. */
  readonly date: string;
  /** Version of the Collector. */
  readonly version: string;
  /** The recordings that were sent to the Collector, without their requests. */
  readonly programs: readonly Omit<Recording, 'requests'>[];
  readonly requests: readonly ExportRequest[];
  /** Exports of a Collector with RECALLD_KEEP_PERCENT=0. */
  readonly errorsOnly: readonly ExportRequest[];
}

const file = path.resolve(import.meta.dirname, '../../fixtures/interop/collector.json.gz');

export function readCollectorRecording(): CollectorRecording {
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as CollectorRecording;
}

export function writeCollectorRecording(recording: CollectorRecording): void {
  writeFileSync(file, gzipSync(JSON.stringify(recording), { level: 9 }));
}
