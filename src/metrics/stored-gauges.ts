/** The gauges that are rebuilt from stored rows, as exposition text: prom-client takes a second for 100,000 of them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { metricCatalogue } from './catalogue.ts';
import type { MetricDefinition } from './definition.ts';
import type { GaugeSample, StoredGauges } from './meter.ts';

/** Series that are written before others have their turn: a millisecond or two. */
const SERIES_A_TURN = 2000;

/** The series of some samples, as lines by the name of their metric. */
interface Lines {
  readonly byName: ReadonlyMap<string, Buffer>;
  /** Metrics of the samples that are left out, since they are not finite. */
  readonly dropped: readonly GaugeSample['name'][];
}

/**
 * Writes every stored gauge of the catalogue with its series, in the text format 0.0.4 of Prometheus. What is kept is
 * written once and put together from then on, as long as its object lives. Other work has its turn in between.
 *
 * @param onDropped told at each writing of each sample that is left out because it is not a finite number
 * @returns the parts of the text, in order
 */
export function createStoredGaugesWriter(
  onDropped: (name: GaugeSample['name']) => void,
): (gauges: StoredGauges) => Promise<readonly Buffer[]> {
  const written = new WeakMap<object, Lines>();
  return async ({ current, kept }) => {
    const parts = [await writeLines(current)];
    for (const { of, samples } of kept) {
      const known = written.get(of);
      const lines = known ?? (await writeLines(samples()));
      if (known === undefined) written.set(of, lines);
      parts.push(lines);
    }
    for (const { dropped } of parts) dropped.forEach(onDropped);
    return headings.flatMap(([name, heading]) => [
      heading,
      ...parts.flatMap(({ byName }) => byName.get(name) ?? []),
    ]);
  };
}

/** All lines of a metric follow each other, under its help and type. */
const headings = Object.entries<MetricDefinition>(metricCatalogue)
  .filter(([, { source }]) => source === 'stored')
  .map(([name, { help, type }]): [string, Buffer] => {
    const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
    return [name, Buffer.from(`\n# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`)];
  });

async function writeLines(samples: readonly GaugeSample[]): Promise<Lines> {
  const series = new Map<string, Map<string, number>>();
  const dropped: GaugeSample['name'][] = [];
  for (const [index, { name, labels, value }] of samples.entries()) {
    if (index % SERIES_A_TURN === SERIES_A_TURN - 1) await nextTurn();
    if (!Number.isFinite(value)) {
      dropped.push(name);
      continue;
    }
    const values = series.get(name);
    if (values === undefined) series.set(name, new Map([[writeLabels(labels), value]]));
    else values.set(writeLabels(labels), value);
  }
  const byName = new Map<string, Buffer>();
  for (const [name, values] of series) {
    let text = '';
    for (const [labels, value] of values) text += `${name}${labels} ${value}\n`;
    byName.set(name, Buffer.from(text));
    if (values.size > SERIES_A_TURN / 10) await nextTurn();
  }
  return { byName, dropped };
}

function writeLabels(labels: GaugeSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
