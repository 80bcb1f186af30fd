/** docs/diagnosis.md is written by hand, but for what the bench of diagnoses came to: that is put between two comments. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type DiagnosisResult, type Kind, totalOf } from '../../bench/diagnosis.ts';
import { readResult } from '../../bench/result-file.ts';
import { code, type Page, table } from './page.ts';

const root = path.resolve(import.meta.dirname, '../..');
const file = 'docs/diagnosis.md';
const begin = '<!-- From bench/results/diagnosis.json by `npm run gen`. -->';
const end = '<!-- Until here. -->';

export function diagnosisPage(): Page {
  const text = readFileSync(path.join(root, file), 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${file} has lost the place of what was measured.`);
  const result = readResult(path.join(root, 'bench/results/diagnosis.json')) as DiagnosisResult;
  return { path: file, text: `${before}${[begin, ...paragraphsOf(result), end].join('\n\n')}${after}` };
}

function paragraphsOf({ provenance, kinds, levels, stated }: DiagnosisResult): string[] {
  const { command, seed, date, machine, node, seconds } = provenance;
  const faults = kinds.filter(({ isQuiet }) => !isQuiet);
  const quiet = kinds.filter(({ isQuiet }) => isQuiet);
  return [
    `By ${code(command)} on ${date} (seed ${seed}; ${machine}; Node.js ${node}; ${Math.ceil(seconds / 60)} minutes).`,
    table(
      ['Confidence', 'Named', 'Right', 'Share', 'Stated, mean; of two causes what both have'],
      levels.map(({ confidence, named, right, stated }) => [
        confidence,
        `${named}`,
        `${right}`,
        shareText(right, named),
        named === 0 ? '-' : stated.toFixed(2),
      ]),
    ),
    table(
      ['Stated probability', 'Named', 'Right', 'Share', 'Stated, mean'],
      stated.map(({ from, to, named, right, stated: said }) => [
        `${from} to ${to}`,
        `${named}`,
        `${right}`,
        shareText(right, named),
        named === 0 ? '-' : said.toFixed(2),
      ]),
    ),
    table(
      ['Worlds', 'Drawn', 'Right', 'Of these one of two', 'No cause named', 'Wrong'],
      [
        summaryRow(`${faults.length} kinds of faults`, faults),
        summaryRow(`${quiet.length} kinds of quiet streams`, quiet),
        summaryRow('all', kinds),
      ],
    ),
    table(
      ['Fault', 'Cause', 'Right', 'One of two', 'No cause named', 'Wrong'],
      kinds.map(({ name, does, cause, draws, right, inPair, unknown, wrong, named }) => [
        `${name}: ${does}`,
        code(cause),
        `${right} of ${draws}`,
        `${inPair}`,
        `${unknown}`,
        wrong === 0 ? '0' : `${wrong}: ${named.map(code).join(', ')}`,
      ]),
    ),
  ];
}

function summaryRow(what: string, kinds: readonly Kind[]): string[] {
  const draws = totalOf(kinds, 'draws');
  const unknown = totalOf(kinds, 'unknown');
  const wrong = totalOf(kinds, 'wrong');
  return [
    what,
    `${draws}`,
    `${totalOf(kinds, 'right')}`,
    `${totalOf(kinds, 'inPair')}`,
    `${unknown} (${shareText(unknown, draws)})`,
    `${wrong} (${shareText(wrong, draws)})`,
  ];
}

function shareText(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}
