/** docs/explanation/diagnosis-accuracy.md is hand-written, except for the results between pairs of comments. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Reliability, Stated } from '../../bench/diagnosis/fit/reliability.ts';
import { type DiagnosisResult, type Kind, totalOf } from '../../bench/diagnosis.ts';
import type { Comparison, FitResult } from '../../bench/diagnosis-fit.ts';
import { readResult } from '../../bench/result-file.ts';
import { code, type Page, table } from './page.ts';

const root = path.resolve(import.meta.dirname, '../..');
const file = 'docs/explanation/diagnosis-accuracy.md';
const beginOf = (name: string): string => `<!-- From bench/results/${name}.json by \`npm run gen\`. -->`;
const end = '<!-- Until here. -->';

export function diagnosisPage(): Page {
  const text = readFileSync(path.join(root, file), 'utf8');
  const fitted = filled(text, 'diagnosis-fit', (result) => paragraphsOfFit(result as FitResult));
  return { path: file, text: filled(fitted, 'diagnosis', (result) => paragraphsOf(result as DiagnosisResult)) };
}

/** Returns `text` with the benchmark's results inserted between its two comments. */
function filled(text: string, name: string, paragraphs: (result: unknown) => string[]): string {
  const begin = beginOf(name);
  const [before, rest] = text.split(begin);
  const until = rest?.indexOf(end) ?? -1;
  if (before === undefined || rest === undefined || until === -1)
    throw new Error(`${file} does not have the comments that enclose the results of ${name}.`);
  const result = readResult(path.join(root, `bench/results/${name}.json`));
  return `${before}${[begin, ...paragraphs(result), end].join('\n\n')}${rest.slice(until + end.length)}`;
}

const left = {
  shape: 'pipelines of other shapes',
  fault: 'other kinds of faults',
  cause: 'without the true cause',
  check: 'worlds from another generator',
} as const satisfies Readonly<Record<Comparison['left'], string>>;

function paragraphsOfFit({ provenance, temperature, comparisons }: FitResult): string[] {
  const { worlds, kinds, day, sha256 } = provenance;
  const counts = Object.entries(worlds).map(([source, count]) => `${count} from the ${source}`);
  return [
    `The weights were fitted with ${code('npx tsx bench/diagnosis-fit.ts')} on ${day} to recorded evaluations (${counts.join(' and ')}) of ${kinds} kinds of faults. The temperature is ${temperature}, and the SHA-256 of the evaluations is ${sha256}.`,
    table(
      [
        'Held out of the fit',
        'Weights',
        'Worlds',
        'Right',
        'No cause named',
        'Wrong',
        'Wrong with high confidence',
        'Right with high confidence',
        'Right with medium confidence',
        'Log loss',
      ],
      comparisons.flatMap((comparison) =>
        (['judged', 'fitted'] as const).map((by) => reliabilityRow(left[comparison.left], by, comparison[by])),
      ),
    ),
    table(
      ['Held out of the fit', 'Stated probability', 'Named', 'Right', 'Share right', 'Mean stated probability'],
      comparisons.flatMap(({ left: of, fitted }) =>
        of === 'cause' ? [] : fitted.stated.map((stated) => [left[of], ...statedCells(stated)]),
      ),
    ),
  ];
}

function reliabilityRow(what: string, by: string, of: Reliability): string[] {
  const level = (confidence: string): string => {
    const { named = 0, right = 0 } = of.levels.find((one) => one.confidence === confidence) ?? {};
    return `${right} of ${named} (${shareText(right, named)})`;
  };
  const { worlds, right, unknown, wrong, wrongWithHighConfidence: high, logLoss } = of;
  return [
    what,
    by,
    `${worlds}`,
    `${right} (${shareText(right, worlds)})`,
    `${unknown}`,
    `${wrong} (${shareText(wrong, worlds)})`,
    `${high} (${shareText(high, worlds)})`,
    level('high'),
    level('medium'),
    logLoss.toFixed(3),
  ];
}

function statedCells({ from, to, named, right, stated }: Stated): string[] {
  return [`${from} to ${to}`, `${named}`, `${right}`, shareText(right, named), named === 0 ? '-' : stated.toFixed(2)];
}

function paragraphsOf({ provenance, kinds, levels, stated }: DiagnosisResult): string[] {
  const { command, seed, date, machine, node, seconds } = provenance;
  const faults = kinds.filter(({ isQuiet }) => !isQuiet);
  const quiet = kinds.filter(({ isQuiet }) => isQuiet);
  return [
    `Measured by ${code(command)} on ${date} (seed ${seed}; ${machine}; Node.js ${node}; ${Math.ceil(seconds / 60)} minutes).`,
    table(
      ['Confidence', 'Named', 'Right', 'Share right', 'Mean stated probability (for two causes, their sum)'],
      levels.map(({ confidence, named, right, stated }) => [
        confidence,
        `${named}`,
        `${right}`,
        shareText(right, named),
        named === 0 ? '-' : stated.toFixed(2),
      ]),
    ),
    table(['Stated probability', 'Named', 'Right', 'Share right', 'Mean stated probability'], stated.map(statedCells)),
    table(
      ['Worlds', 'Number', 'Right', 'Right as one of two causes', 'No cause named', 'Wrong'],
      [
        summaryRow(`${faults.length} kinds of faults`, faults),
        summaryRow(`${quiet.length} kinds of quiet streams`, quiet),
        summaryRow('all', kinds),
      ],
    ),
    table(
      ['Fault', 'Cause', 'Right', 'Right as one of two causes', 'No cause named', 'Wrong'],
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
