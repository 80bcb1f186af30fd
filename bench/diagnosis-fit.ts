/**
 * Fits the weights of the diagnosis to recorded evaluations, and measures the accuracy of these weights in worlds that
 * the fit did not use: pipelines of other shapes, other kinds of faults, and faults whose cause is not in the list.
 *
 *     npx tsx bench/diagnosis.ts --training --record FILE
 *     npx tsx bench/diagnosis-fit.ts --from FILE... [--check FILE...] [--out FILE] [--report FILE] [--spread NATS]
 *         [--spread-of-factors F] [--open SHARE] [--day YYYY-MM-DD]
 *
 * Files contain recorded evaluations, or world records from `npx tsx bench/faults.ts --split training`. The fit uses
 * the files of `--from`; the evaluations in the files of `--check` are only ranked. By default, `--out` is
 * src/incidents/diagnosis/rules/fitted-weights.ts, and `--report` is bench/results/diagnosis-fit.json. Runs with the
 * same input files on the same day write identical bytes. docs/explanation/diagnosis-accuracy.md describes the method.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { judgedEstimates } from '../src/incidents/diagnosis/rules/estimates.ts';
import {
  countKinds,
  fittingTemperature,
  foldsBy,
  type LeftOut,
  rankedIn,
  struckByJudgement,
  struckIn,
} from './diagnosis/fit/cross-validate.ts';
import { estimatesAt, type FitSettings, fitEstimates, fitSettings } from './diagnosis/fit/estimate.ts';
import { type Evaluation, readEvaluations } from './diagnosis/fit/evaluation.ts';
import { groupBy } from './diagnosis/fit/group-by.ts';
import { numbered } from './diagnosis/fit/problem.ts';
import { type Ranked, type Reliability, rankedBy, reliabilityOf } from './diagnosis/fit/reliability.ts';
import { type FitProvenance, sourceOf } from './diagnosis/fit/write-estimates.ts';
import { writeResult } from './result-file.ts';

/**
 * Reliability of two rankings of the same worlds: one uses weights set by experts, the other uses weights fitted
 * without these worlds.
 */
export interface Comparison {
  /** Worlds that were excluded from the fit. */
  readonly left: LeftOut | 'check';
  readonly judged: Reliability;
  readonly fitted: Reliability;
}

export interface FitResult {
  readonly provenance: FitProvenance;
  readonly settings: FitSettings;
  /**
   * Sums of nats are divided by this number, so that probabilities are also calibrated for kinds of faults that the fit
   * did not use.
   */
  readonly temperature: number;
  readonly comparisons: readonly Comparison[];
}

const root = path.resolve(import.meta.dirname, '..');

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string', multiple: true, default: [] },
    check: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', default: path.join(root, 'src/incidents/diagnosis/rules/fitted-weights.ts') },
    report: { type: 'string', default: path.join(root, 'bench/results/diagnosis-fit.json') },
    spread: { type: 'string', default: `${fitSettings.spread}` },
    day: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    'spread-of-factors': { type: 'string', default: `${fitSettings.spreadOfFactors}` },
    open: { type: 'string', default: `${fitSettings.open}` },
  },
});

function compared(left: Comparison['left'], judged: readonly Ranked[], fitted: readonly Ranked[]): Comparison {
  const comparison = { left, judged: reliabilityOf(judged), fitted: reliabilityOf(fitted) };
  for (const by of ['judged', 'fitted'] as const) {
    const { worlds, right, unknown, wrong, wrongWithHighConfidence, logLoss, levels } = comparison[by];
    const stated = levels.map(({ confidence, named, right: well }) => `${confidence} ${well}/${named}`).join(', ');
    say(
      `${left}, ${by}: ${right} of ${worlds} right, ${unknown} unknown, ${wrong} wrong (${wrongWithHighConfidence} with high confidence); ${stated}; log loss ${logLoss}`,
    );
  }
  return comparison;
}

function provenanceOf(evaluations: readonly Evaluation[], files: readonly string[]): FitProvenance {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  return {
    sha256: hash.digest('hex'),
    worlds: Object.fromEntries([...groupBy(evaluations, ({ source }) => source)].map(([key, of]) => [key, of.length])),
    kinds: countKinds(evaluations),
    day: values.day,
    version,
  };
}

const settings: FitSettings = {
  spread: Number(values.spread),
  spreadOfFactors: Number(values['spread-of-factors']),
  open: Number(values.open),
};
const files = [...values.from, ...positionals];
const evaluations = readEvaluations(files);
if (evaluations.length === 0) throw new Error('Nothing to fit on: name a file of evaluations with --from.');
const checked = readEvaluations(values.check);

const fit = fitEstimates(numbered(evaluations), settings);
const byFault = foldsBy('fault', evaluations, settings);
const temperature = fittingTemperature(byFault, settings);
const estimates = estimatesAt(fit, temperature);
const provenance = provenanceOf(evaluations, files);
writeFileSync(values.out, sourceOf(estimates, provenance));

const judged = evaluations.map((one) => rankedBy(one, judgedEstimates));
const comparisons = [
  compared('shape', judged, rankedIn(foldsBy('shape', evaluations, settings), temperature)),
  compared('fault', judged, rankedIn(byFault, temperature)),
  compared('cause', struckByJudgement(evaluations), struckIn(foldsBy('cause', evaluations, settings), temperature)),
  ...(checked.length === 0
    ? []
    : [
        compared(
          'check',
          checked.map((one) => rankedBy(one, judgedEstimates)),
          checked.map((one) => rankedBy(one, estimates)),
        ),
      ]),
];
const result: FitResult = { provenance, settings, temperature, comparisons };
writeResult(values.report, result);
