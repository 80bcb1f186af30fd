/**
 * Measures the costs of recalld. In the same rounds, each row of the result also measures the programs with which
 * recalld is compared.
 *
 *     npm run bench                          all rows: writes bench/results/speed.json; `npm run gen` writes the page
 *     npm run bench -- NAME... [--quick]     only these rows, or a hundredth of the work: prints their results
 *     npm run bench -- NAME... --keep        replaces these rows in the existing results, with a note
 *     npm run bench:check                    fails if the written results miss a goal
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { type Provenance, provenance, readResult, writeResult } from './result-file.ts';
import { clientCall, pythonClientCall } from './speed/client-call.ts';
import { demo } from './speed/demo.ts';
import { driftPass } from './speed/drift-pass.ts';
import { evaluation } from './speed/evaluation.ts';
import { evaluationOfFiles } from './speed/evaluation-of-files.ts';
import { evaluationOfShuffledRuns } from './speed/evaluation-of-shuffled-runs.ts';
import { eventLoop } from './speed/event-loop.ts';
import { goldenRun } from './speed/golden-run.ts';
import { history } from './speed/history.ts';
import { ingest } from './speed/ingest.ts';
import { ingestDurable } from './speed/ingest-durable.ts';
import { ingestIsolation } from './speed/ingest-isolation.ts';
import { judging } from './speed/judging.ts';
import { plainVersions } from './speed/plain-versions.ts';
import { type SpeedResult, speedFile } from './speed/result.ts';
import { isMet, type MeasureRow, type RowResult } from './speed/row.ts';
import { measureScaling } from './speed/scaling.ts';
import { scrapeRow } from './speed/scrape.ts';
import { scrapeLarge } from './speed/scrape-large.ts';
import { shadow } from './speed/shadow.ts';
import { start } from './speed/start.ts';

const rows: Readonly<Record<string, MeasureRow>> = {
  evaluation,
  'evaluation-of-files': evaluationOfFiles,
  'evaluation-of-shuffled-runs': evaluationOfShuffledRuns,
  ingest,
  'ingest-durable': ingestDurable,
  'ingest-isolation': ingestIsolation,
  'client-call': clientCall,
  'python-client-call': pythonClientCall,
  'drift-pass': driftPass,
  'plain-versions': plainVersions,
  'golden-run': goldenRun,
  'event-loop': eventLoop,
  judging,
  shadow,
  scrape: scrapeRow,
  'scrape-large': scrapeLarge,
  history,
  start,
  demo,
};

async function measure(quick: boolean, names: readonly string[]): Promise<SpeedResult> {
  const startedAt = performance.now();
  const [load = 0] = os.loadavg();
  const measured: RowResult[] = [];
  for (const [name, measureRow] of Object.entries(rows)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(`${Math.round((performance.now() - startedAt) / 1000)} s: ${name}`);
    const row = await measureRow(quick);
    for (const { what, unit, median, low, high } of row.figures) {
      say(`  ${what}: ${round(median)} ${unit} (${round(low)} to ${round(high)})`);
    }
    for (const bar of row.bars) {
      say(`  ${isMet(bar) ? 'met' : 'MISSED'}: ${bar.what} ${round(bar.value)}, ${bar.side} ${bar.limit} ${bar.unit}`);
    }
    measured.push(row);
  }
  const wantsCurves = names.length === 0 || names.includes('scaling');
  const curves = wantsCurves ? await measureScaling(quick, say) : [];
  return { provenance: provenance('npm run bench', 1, startedAt), load, rows: measured, curves };
}

/** Returns the earlier results, in which the newly measured rows replace the rows with the same names. */
function keep(before: SpeedResult, { provenance: now, load, rows: measured }: SpeedResult): SpeedResult {
  const apart = measured.map((row) => ({ ...row, notes: [...row.notes, separationNote(row.name, now, load)] }));
  const kept = before.rows.map((row) => apart.find(({ name }) => name === row.name) ?? row);
  return { ...before, rows: [...kept, ...apart.filter((row) => !kept.includes(row))] };
}

function separationNote(name: string, { date, machine }: Provenance, load: number): string {
  return `Measured separately from the other rows, by \`npm run bench -- ${name}\` on ${date}, ${machine}. The load average before the measurement was ${round(load)}, caused by other processes.`;
}

function round(value: number): string {
  return value.toPrecision(value >= 1000 ? Math.ceil(Math.log10(value + 1)) : 3);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const { values, positionals: names } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const known = [...Object.keys(rows), 'scaling'];
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`There is no row ${unknown.join(', ')}; there are ${known.join(', ')}.`);
const { quick } = values;
const result = await measure(quick, names);
// Results of selected rows are stored only with `--keep`; results with `--quick` are never stored.
if (values.keep && !quick) writeResult(speedFile, keep(readResult(speedFile) as SpeedResult, result));
else if (quick || names.length > 0) process.stdout.write(`${JSON.stringify(result)}\n`);
else writeResult(speedFile, result);
