/** The page of benchmarks, from the results of the last full run. */
import { existsSync, readFileSync } from 'node:fs';
import { readResult } from '../../bench/result-file.ts';
import { type IngestMemoryResult, memoryFile } from '../../bench/speed/memory-result.ts';
import { type Curve, type SpeedResult, speedFile } from '../../bench/speed/result.ts';
import { type Bar, type Figure, isMet, type RowResult } from '../../bench/speed/row.ts';
import { generatedPage, type Page, table } from './page.ts';

/** No page before there are results. */
export function benchmarksPages(): Page[] {
  if (!existsSync(speedFile)) return [];
  const { provenance, load, rows, curves } = JSON.parse(readFileSync(speedFile, 'utf8')) as SpeedResult;
  const page = generatedPage(
    'docs/explanation/benchmarks.md',
    ['bench/results/speed.json', 'bench/results/ingest-memory.json'],
    [
      '# Benchmarks',
      `Measured by \`${provenance.command}\` on ${provenance.date}, ${provenance.machine}, Node.js ${provenance.node}, in ${Math.round(provenance.seconds / 60)} minutes; the load average before was ${number(load)}. What recalld is compared with ran in the same rounds, so ratios tell more than figures. \`npm run bench:check\` fails when a bar is missed; \`npm run bench -- NAME\` measures one row again.`,
      'A figure is the median of its rounds, with the least and the most.',
      ...rows.flatMap(rowSections),
      '## How cost grows',
      'The exponent x is that of cost = constant x size^x over the sizes that were measured: 1 doubles the cost with the size, 0 leaves it.',
      table(['what', 'grows with', 'measured', 'exponent', 'in words'], curves.map(curveCells)),
      ...memorySection(),
    ],
  );
  return [page];
}

/** Nothing before there is a result. */
function memorySection(): string[] {
  const result = readResult(memoryFile) as IngestMemoryResult | null;
  if (result === null) return [];
  const { provenance, load, idleMb, promisedMb, phases, accepted, counted } = result;
  const rows = phases.map(({ what, queriesPerSecond, shed, residentMb, peakMb }) => [
    what,
    `${number(queriesPerSecond)} queries/s`,
    String(shed),
    residentMb.join(' '),
    `${peakMb} MB`,
  ]);
  return [
    '## Memory under flood',
    `Resident set of one process that is sent more than it takes, PostgreSQL apart: \`${provenance.command}\` on ${provenance.date}, ${provenance.machine}, Node.js ${provenance.node}; the load average before was ${number(load)}. It was ${idleMb} MB before, and ${promisedMb} MB are promised.`,
    table(['sent', 'answered 202', 'requests answered 503', 'MB after each tenth of the time', 'at most'], rows),
    `${accepted} queries were answered 202, and the database has counted ${counted}.`,
  ];
}

function rowSections({ row, name, figures, bars, notes, profile = [] }: RowResult): string[] {
  return [
    `## ${row.slice(0, 1).toUpperCase()}${row.slice(1)} (\`${name}\`)`,
    table(['what', 'median', 'least to most', 'rounds'], figures.map(figureCells)),
    ...(bars.length === 0 ? [] : [table(['bar', 'measured', 'asked', ''], bars.map(barCells))]),
    ...notes,
    ...(profile.length === 0
      ? []
      : [
          `Where the main thread of the daemon spent its time meanwhile, by self time in a CPU profile of V8 that \`npm run bench -- ${name}\` takes in a round of its own:`,
          table(
            ['part', 'share'],
            profile.map(({ where, share }) => [where, percent(share)]),
          ),
        ]),
  ];
}

function figureCells({ what, unit, median, low, high, rounds }: Figure): string[] {
  const range = rounds === 1 ? '' : `${number(low)} to ${number(high)}`;
  return [what, `${number(median)} ${unit}`, range, String(rounds)];
}

function barCells(bar: Bar): string[] {
  const { what, value, unit, side, limit } = bar;
  return [
    what,
    `${number(value)} ${unit}`,
    `${side} ${number(limit)} ${unit}`,
    isMet(bar) ? 'met' : `missed by ${percent(Math.abs(1 - value / limit))}`,
  ];
}

function curveCells({ what, size, points, exponent }: Curve): string[] {
  const measured = points.map((point) => `${number(point.size)}: ${number(point.ms)} ms`).join(', ');
  return [what, size, measured, exponent.toFixed(2), inWords(exponent)];
}

function inWords(exponent: number): string {
  const times = `twice the size costs ${number(2 ** exponent)} times as much`;
  if (exponent < 0.3) return `hardly grows: ${times}`;
  if (exponent < 0.85) return `grows more slowly than the size: ${times}`;
  if (exponent <= 1.15) return `grows with the size: ${times}`;
  return `grows faster than the size: ${times}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** Three digits, and thousands apart. */
function number(value: number): string {
  return new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value);
}
