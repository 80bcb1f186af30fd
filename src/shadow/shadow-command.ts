/** `recalld shadow`: whether a retriever may take the place of a pipeline's own. */
import type { Command } from 'commander';
import { commandSettings, withCommandStore, withPipeline } from '../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../cli/exit.ts';
import { type ConfiguredOptions, configuredCommand, formatTable, printJson, printLine, styled } from '../cli/output.ts';
import { signedScore } from '../golden/commands/compare.ts';
import { systemClock } from '../system-clock.ts';
import type { WeightedShare } from './rules/relevance.ts';
import {
  evidenceSentence,
  findShadow,
  judgedEvidence,
  readShadow,
  type ShadowOnJudged,
  type ShadowReport,
  shadowJson,
  verdictSentences,
} from './shadow-reads.ts';

interface ReportOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly shadow: string;
}

export function shadowCommand(command: Command, signal: AbortSignal): Command {
  command.addCommand(
    configuredCommand(
      'report',
      'Say whether a shadow is better or worse, and when there will be enough evidence; exit 1 when it is worse.',
      'recalld shadow report --pipeline support-docs --shadow new-index',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `shadow`')
      .requiredOption('--shadow <name>', 'name of the shadow')
      .action((options: ReportOptions) => report(options, signal)),
  );
  return command;
}

async function report(options: ReportOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  await withPipeline(settings, options.pipeline, async (pipeline) => {
    const shadow = findShadow(pipeline, options.shadow);
    await withCommandStore(settings, async (store) => {
      const found = await readShadow({ ...store, clock: systemClock }, pipeline, shadow);
      if (options.json === true) printJson(shadowJson(found));
      else printLine(shadowText(found));
      if (found.verdict === 'worse') process.exitCode = EXIT_CHECK_FAILED;
    });
  });
}

/** What the command prints for people. */
export function shadowText({
  pipeline,
  shadow,
  verdict,
  difference,
  golden,
  live,
  judged,
  calls,
}: ShadowReport): string {
  const rows = golden.map(({ goldenSet, verdict: found, by }) =>
    by === null
      ? [goldenSet, found.replaceAll('_', ' '), '', '', '', '', '']
      : [
          goldenSet,
          found,
          `ndcg@${by.k}`,
          `${by.baseline.toFixed(4)} -> ${by.candidate.toFixed(4)}`,
          `${signedScore(by.difference)} (${signedScore(by.ciLow)} to ${signedScore(by.ciHigh)})`,
          `${by.p.toFixed(4)} of ${by.alpha.toFixed(4)}`,
          `${by.n} x ${by.runs}`,
        ],
  );
  return [
    `${styled('bold', `${shadow} beside ${pipeline}: ${verdict.replaceAll('_', ' ')}`)}. ${verdictSentences[verdict]}`,
    ...(rows.length === 0
      ? []
      : [
          '',
          formatTable(
            ['golden set', 'verdict', 'measure', 'mean', 'difference, 95 %', 'p, level', 'n x runs'],
            rows,
            3,
          ),
        ]),
    ...golden.map(({ goldenSet, evidence }) => `${goldenSet}: ${evidenceSentence(evidence, difference)}`),
    ...golden.flatMap(({ goldenSet, latency95 }) =>
      latency95.shadow === null || latency95.pipeline === null
        ? []
        : [
            `${goldenSet}: 95 % of answers within ${latency95.shadow.toFixed(0)} ms, of the pipeline within ${latency95.pipeline.toFixed(0)} ms.`,
          ],
    ),
    ...(judged === null
      ? []
      : ['', judgedLine(judged), `Judged live relevance: ${judgedEvidence(judged, difference)}`]),
    '',
    `Live queries asked in ${live.days} days: ${live.asked}, of which failed: ${live.failed}.`,
    ...shareLine('Rank-biased overlap with what users got', live.overlap),
    ...shareLine('Share of lists that differ', live.changed),
    `Questions today: ${calls.today} of ${calls.maxPerDay}, for $${calls.dollarsToday.toFixed(2)}.`,
  ].join('\n');
}

function judgedLine({ k, verdict, baseline, candidate, difference, queries, days, leftOut }: ShadowOnJudged): string {
  const says = `Judged live relevance, ndcg@${k}: ${verdict.replaceAll('_', ' ')}`;
  if (baseline === null || candidate === null) return `${says}; no day is over on which both lists were graded.`;
  const means = `${baseline.toFixed(4)} -> ${candidate.toFixed(4)}`;
  const bounds =
    difference === null
      ? 'too little for bounds yet'
      : `${signedScore(difference.value)}, at every look ${signedScore(difference.low)} to ${signedScore(difference.high)}`;
  const rest = leftOut === 0 ? '' : `, ${leftOut} left out`;
  return `${says}: ${means} (${bounds}; ${queries} queries of ${days} days${rest}).`;
}

function shareLine(title: string, share: WeightedShare | null): string[] {
  if (share === null) return [];
  const { value, low, high, n } = share;
  return [`${title}: ${value.toFixed(3)} (95 % ${low.toFixed(3)} to ${high.toFixed(3)}, n ${n}).`];
}
