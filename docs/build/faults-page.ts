/** docs/explanation/faults.md: results of the fault benchmark on each split. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Share, Summary } from '../../bench/faults/summary.ts';
import type { Provenance } from '../../bench/result-file.ts';
import { plural } from '../../src/core/format.ts';
import { code, generatedPage, type Page, table } from './page.ts';

interface FaultsResult {
  readonly provenance: Provenance;
  readonly split: string;
  /** Number of worlds in the split; absent if all of them ran. */
  readonly planned?: number;
  /** How the true nDCG@10 identifies a relevant document: by its text, or, in older results, only by its id. */
  readonly truth?: 'text';
  /** SHA-256 of the test split; null for training. */
  readonly seal: string | null;
  readonly summary: Summary;
}

const results = path.resolve(import.meta.dirname, '../../bench/results');
const titles = { test: 'Test split', quiet: 'Quiet days', training: 'Training split' } as const;

/** Returns the page, or an empty list if there are no results yet. */
export function faultsPages(): Page[] {
  const found = (['test', 'quiet', 'training'] as const).flatMap((split) => {
    const file = path.join(results, `faults-${split}.json`);
    return existsSync(file)
      ? [{ title: titles[split], result: JSON.parse(readFileSync(file, 'utf8')) as FaultsResult }]
      : [];
  });
  if (found.length === 0) return [];
  return [
    generatedPage(
      'docs/explanation/faults.md',
      ['bench/results/faults-*.json'],
      [
        '# Faults',
        'This page reports how often recalld names the true cause of a fault. Each fault is injected into a *world*: a daemon that monitors a service with real texts, a real retriever and a real store. The authors of the faults did not know how the diagnosis works. `bench/faults/README.md` in the repository explains the worlds, the scoring, and how to add a fault. The authors of the diagnosis use only the training split of the worlds for development; the sealed test split runs only once per version of the benchmark.',
        ...found.flatMap(({ title, result }) => sectionOf(title, result)),
      ],
    ),
  ];
}

function percent({ right, of }: Share): string {
  return of === 0 ? 'none' : `${Math.round((1000 * right) / of) / 10} % (${right} of ${of})`;
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted((a, b) => b[1] - a[1])
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ');
}

/** Returns how many worlds ran; if the run was stopped early, also how many were planned. */
function worldsText(run: number, planned = run): string {
  return run < planned
    ? `${run} of ${planned} worlds (the run was stopped early; worlds with small golden sets run first)`
    : `${run} worlds`;
}

function sectionOf(title: string, { provenance, split, planned, truth, seal, summary }: FaultsResult): string[] {
  const { quiet } = summary;
  const sealed = seal === null ? '' : ` The SHA-256 hash of the split is ${code(seal)}.`;
  const critical = quiet.incidents === 0 ? '' : `, ${quiet.pages === 0 ? 'none' : quiet.pages} of them critical,`;
  const opened = `${plural(quiet.incidents, 'incident')}${critical} in ${quiet.worlds} worlds observed for ${quiet.days} days in total`;
  const run = `Measured by ${code(provenance.command)} on ${provenance.date} in ${worldsText(summary.worlds, planned)} (${provenance.machine}, Node.js ${provenance.node}).${sealed}`;
  if (split === 'quiet')
    return [
      `## ${title}`,
      run,
      `Nothing is wrong in quiet worlds, so no incident should open. There were ${opened}. Quiet worlds use the same combinations of corpora, retrievers and stores as the test split.`,
    ];
  const rows: [string, string][] = [
    ['high-confidence diagnoses that were correct', percent(summary.byConfidence.high)],
    ['medium-confidence diagnoses that were correct', percent(summary.byConfidence.medium)],
    ['low-confidence diagnoses that were correct', percent(summary.byConfidence.low)],
    ['single faults named correctly within three golden runs', percent(summary.namedWithinThree)],
    ['single faults named correctly after the last golden run', percent(summary.namedAtEnd)],
    ['single faults for which a wrong cause was named with high confidence', percent(summary.wrongWithHigh)],
    ['single faults whose cause is reported as unknown after the last golden run', percent(summary.unknownAtEnd)],
    ['single faults without any incident', percent(summary.silent)],
    ['single faults, by the number of golden runs until the named cause was right', countsText(summary.runsToRight)],
    [
      'single faults that lowered nDCG@10 by 0.05 or more, and paged in the first golden run with this drop or in the next run',
      percent(summary.pagedWithinTwo),
    ],
    ['document losses diagnosed correctly within two golden runs', percent(summary.lossesWithinTwo)],
    ['fault pairs with both causes named', percent(summary.pairsBothNamed)],
    ['fault pairs with at least one cause named', percent(summary.pairsOneNamed)],
    ['incidents in worlds without a fault or with a harmless change', opened],
    ['worlds excluded because other processes disturbed the machine', String(summary.disturbed)],
    ['worlds whose healthy history ended with an open incident', String(summary.unhealthyHistories)],
    ['messages sent after the repair, except recovery messages', String(summary.messagesAfterRepair)],
    ['worlds with an open incident three hours after the repair', String(summary.unresolved)],
  ];
  return [
    `## ${title}`,
    run,
    truth === 'text'
      ? 'In these results, nDCG@10 identifies a relevant document by its text, even if the document has a new id, because new ids do not affect users.'
      : 'In this version, nDCG@10 identifies a relevant document by its id, so a new id for the same text counts as a drop.',
    table(['What', 'Result'], rows),
    '### Calibration',
    table(
      ['Stated probability, at least', 'Diagnoses', 'Mean stated probability', 'Share right'],
      summary.calibration.map(({ from, n, stated, right }) => [
        String(from),
        String(n),
        stated === null ? '' : stated.toFixed(2),
        n === 0 ? '' : (right / n).toFixed(2),
      ]),
    ),
    '### Named causes, by true cause',
    table(
      ['True cause', 'Diagnosis after the last golden run (none: no incident)'],
      Object.entries(summary.confusion).map(([cause, said]) => [cause, countsText(said)]),
    ),
    '### By kind of fault',
    table(
      [
        'Kind',
        'Worlds',
        'With an incident',
        'Named correctly',
        'Diagnosis after the last golden run (none: no incident)',
      ],
      Object.entries(summary.byKind).map(([kind, one]) => [
        kind,
        String(one.worlds),
        String(one.incidents),
        String(one.named),
        countsText(one.said),
      ]),
    ),
  ];
}
