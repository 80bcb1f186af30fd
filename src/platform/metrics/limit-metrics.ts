/** Metrics for an API key that is limited to certain pipelines. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { metricCatalogue } from './catalogue.ts';
import type { MetricDefinition } from './definition.ts';

/** Number of lines filtered per turn of the event loop, so that a turn takes 1 to 2 ms. */
const LINES_PER_TURN = 5000;

/** Metrics that contain no pipeline data. Other metrics without a pipeline label are hidden. */
export const sharedMetrics: readonly string[] = Object.entries<MetricDefinition>(metricCatalogue).flatMap(
  ([name, { labels, isShared = false }]) => (isShared && !labels.includes('pipeline') ? [name] : []),
);

/**
 * Returns the shared metrics, and the samples of the given pipelines and their shadows, in the Prometheus text format.
 *
 * @param parts the complete metrics text, split at line endings
 */
export async function limitMetrics(
  parts: readonly Buffer[],
  pipelines: readonly string[],
): Promise<readonly [Buffer, ...Buffer[]]> {
  const shown: string[] = [];
  // The HELP and TYPE lines of a metric are shown with its first sample.
  let heading: string[] = [];
  let lines = 0;
  for (const part of parts) {
    for (const line of part.toString('utf8').split('\n')) {
      lines += 1;
      if (lines % LINES_PER_TURN === 0) await nextTurn();
      if (line.startsWith('# HELP ')) heading = [line];
      else if (line.startsWith('#')) heading.push(line);
      else if (isShown(line, pipelines)) {
        shown.push(...heading, line);
        heading = [];
      }
    }
  }
  return [Buffer.from(shown.map((line) => `${line}\n`).join(''))];
}

function isShown(line: string, pipelines: readonly string[]): boolean {
  const [, name = '', labels] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
  if (name === '') return false;
  // Reads the labels one by one, because a value may contain text that looks like another label.
  for (const [, label, value = ''] of (labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
    if (label === 'pipeline') return pipelines.some((one) => value === one || value.startsWith(`${one}~`));
  return sharedMetrics.includes(name);
}
