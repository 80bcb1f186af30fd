/** docs/explanation/benchmarks.md and its pages: results of the last full run. */
import { existsSync, readFileSync } from 'node:fs';
import { readResult } from '../../bench/result-file.ts';
import { type IngestMemoryResult, memoryFile } from '../../bench/speed/memory-result.ts';
import { type Curve, type SpeedResult, speedFile } from '../../bench/speed/result.ts';
import { type Bar, type Figure, isMet, type RowResult } from '../../bench/speed/row.ts';
import { capitalized } from '../../src/core/format.ts';
import { generatedPage, type Page, table } from './page.ts';

/** Returns the overview, the page of all rows and the history page; an empty list if there are no results yet. */
export function benchmarksPages(): Page[] {
  if (!existsSync(speedFile)) return [];
  const result = JSON.parse(readFileSync(speedFile, 'utf8')) as SpeedResult;
  const { rows, curves } = result;
  const history = rows.filter(({ name }) => name === 'history');
  const bars = rows.flatMap(({ name, bars: own }) => own.map((bar) => [name, ...barCells(bar)]));
  return [
    generatedPage(
      'docs/explanation/benchmarks.md',
      ['bench/results/speed.json', 'bench/results/ingest-memory.json'],
      [
        '# Benchmarks',
        measuredText(result),
        '```sh\nnpm run bench                # every row\nnpm run bench -- NAME        # one row\nnpm run bench:check          # fails if a goal is missed\n```',
        'See also [all figures](benchmarks/rows.md) and [the cost of history](benchmarks/history.md).',
        '## Goals',
        table(['Row', 'Goal', 'Measured', 'Limit', ''], bars),
        '## How cost grows',
        'In this table, the cost of an operation is proportional to its size (the quantity under *Grows with*) raised to the power of the exponent. With exponent 1, twice the size doubles the cost; with exponent 0, the size does not affect the cost.',
        table(['What', 'Grows with', 'Measured', 'Exponent', 'In words'], curves.map(curveCells)),
        ...memorySection(),
      ],
    ),
    generatedPage(
      'docs/explanation/benchmarks/rows.md',
      ['bench/results/speed.json'],
      [
        '# Benchmark figures',
        `${measuredText(result)} Each figure on this page is the median over all rounds, with the minimum and maximum. [Benchmarks](../benchmarks.md) lists the goals.`,
        ...rows.filter((row) => !history.includes(row)).flatMap(rowSections),
      ],
    ),
    generatedPage(
      'docs/explanation/benchmarks/history.md',
      ['bench/results/speed.json'],
      [
        '# The cost of history',
        `${measuredText(result, false)} The benchmark measures every page, route, command and job with 9 and with 90 days of history.`,
        ...history.flatMap(rowSections),
      ],
    ),
  ];
}

function measuredText({ provenance, load }: SpeedResult, isCompared = true): string {
  const compared =
    ' The programs that recalld is compared with ran in the same rounds as recalld, so ratios are more reliable than absolute figures.';
  return `Measured by \`${provenance.command}\` on ${provenance.date} (${provenance.machine}, Node.js ${provenance.node}, ${Math.round(provenance.seconds / 60)} minutes, load average ${number(load)} before the run).${isCompared ? compared : ''}`;
}

/** Returns the memory section, or an empty list if there is no result yet. */
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
    '## Memory under overload',
    `The table shows the resident set size of one overloaded recalld process, excluding the memory of PostgreSQL. \`${provenance.command}\` measured the memory on ${provenance.date} (${provenance.machine}, Node.js ${provenance.node}, load average ${number(load)} before the run). The process used ${idleMb} MB before the overload; the limit is ${promisedMb} MB.`,
    table(
      ['Sent', 'Accepted (202)', 'Requests refused (503)', 'MB at the end of each tenth of the test', 'Maximum'],
      rows,
    ),
    `recalld accepted ${accepted} queries (status 202), and its database contains ${counted} queries.`,
  ];
}

function rowSections({ row, name, figures, bars, notes, profile = [] }: RowResult): string[] {
  return [
    `## ${capitalized(row)} (\`${name}\`)`,
    table(['Figure', 'Median', 'Minimum to maximum', 'Rounds'], figures.map(figureCells)),
    ...(bars.length === 0 ? [] : [table(['Goal', 'Measured', 'Limit', ''], bars.map(barCells))]),
    ...notes,
    ...(profile.length === 0
      ? []
      : [
          `The next table shows the self time of the daemon's main thread in a separate round with a V8 CPU profile:`,
          table(
            ['Part', 'Share'],
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
    isMet(bar) ? 'met' : missedText(value / limit),
  ];
}

/** `missed by 12 %`; from twice the limit on, `missed: 42.1 times the limit`. */
function missedText(ratio: number): string {
  return ratio < 2 ? `missed by ${percent(Math.abs(1 - ratio))}` : `missed: ${number(ratio)} times the limit`;
}

function curveCells({ what, size, points, exponent }: Curve): string[] {
  const measured = points.map((point) => `${number(point.size)}: ${number(point.ms)} ms`).join(', ');
  return [what, size, measured, exponent.toFixed(2), inWords(exponent)];
}

function inWords(exponent: number): string {
  const times = `twice the size costs ${number(2 ** exponent)} times as much`;
  if (exponent < 0.3) return `grows little: ${times}`;
  if (exponent < 0.85) return `grows more slowly than the size: ${times}`;
  if (exponent <= 1.15) return `grows with the size: ${times}`;
  return `grows faster than the size: ${times}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** Formats a number with three significant digits and thousands separators. */
function number(value: number): string {
  return new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value);
}
