/** The objects that Helm rendered from the chart for each set of values. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { chartFolder, readChart, type Tree } from './values.ts';

export interface ChartRecording {
  /** Day of the recording. */
  readonly date: string;
  /** Version of Helm. */
  readonly version: string;
  /** Version of the chart. */
  readonly chartVersion: string;
  /** SHA-256 of the chart's templates and values. */
  readonly chart: string;
  /** Kubernetes manifests, keyed by the SHA-256 of the Helm values. */
  readonly objects: Record<string, readonly Tree[]>;
}

const file = path.resolve(import.meta.dirname, '../../../fixtures/interop/helm.json.gz');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const keyOf = (values: Tree): string => sha256(JSON.stringify(values));

/** Returns a digest of the chart without its version, which each release changes. */
export function chartDigest(): string {
  const templates = readdirSync(path.join(chartFolder, 'templates')).toSorted();
  const names = [...templates.map((name) => `templates/${name}`), 'values.yaml', 'values.schema.json'];
  return sha256(names.map((name) => `${name}\n${readChart(name)}`).join('\n'));
}

export function readChartRecording(): ChartRecording {
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as ChartRecording;
}

export function writeChartRecording(recording: ChartRecording): void {
  writeFileSync(file, gzipSync(JSON.stringify(recording), { level: 9 }));
}
