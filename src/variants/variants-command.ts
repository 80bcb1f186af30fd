/** `recalld variants`: which variant of the service users fare better with. */
import type { Command } from 'commander';
import { commandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../cli/exit.ts';
import { type ConfiguredOptions, configuredCommand, formatTable, printJson, printLine, styled } from '../cli/output.ts';
import { signedScore } from '../golden/commands/compare.ts';
import { percent } from '../text/spelling.ts';
import { type ArmComparison, FALSE_CALLS } from './rules/compare-arms.ts';
import {
  createVariantPlans,
  findVariants,
  leftOutSentences,
  measureTitles,
  readVariants,
  splitSentence,
  type VariantReport,
  variantsJson,
  verdictSentences,
} from './variants-reads.ts';

interface ReportOptions extends ConfiguredOptions {
  readonly pipeline: string;
}

export function variantsCommand(command: Command, signal: AbortSignal): Command {
  command.addCommand(
    configuredCommand(
      'report',
      'Say whether sessions are split as declared, and then whether an arm is better or worse; exit 1 when one is worse or the split is off.',
      'recalld variants report --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `variants`')
      .action((options: ReportOptions) => report(options, signal)),
  );
  return command;
}

async function report({ config: file, pipeline, json }: ReportOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(file, signal);
  assertConfiguredPipeline(settings.config, pipeline);
  const plan = findVariants(createVariantPlans(settings.config), pipeline);
  await withCommandStore(settings, async (store) => {
    const found = await readVariants(store, plan);
    if (json === true) printJson(variantsJson(found));
    else printLine(textOf(found));
    const isWorse = found.arms.some(({ verdict }) => verdict === 'worse');
    if (isWorse || found.split.verdict === 'mismatch') process.exitCode = EXIT_CHECK_FAILED;
  });
}

function textOf(found: VariantReport): string {
  const { plan, split, arms, days } = found;
  const control = plan.arms[0]?.name ?? '';
  const isOff = split.verdict === 'mismatch';
  return [
    isOff ? styled('red', splitSentence(split)) : splitSentence(split),
    ...leftOutSentences(found),
    ...(days === null ? [] : [`Days from ${days.first} to ${days.last} (UTC).`]),
    ...(isOff
      ? []
      : arms.flatMap(({ name, verdict, comparisons }) => [
          '',
          `${styled('bold', `${name} beside ${control}: ${verdict.replaceAll('_', ' ')}`)}. ${verdictSentences[verdict]}`,
          formatTable(
            ['measure', 'verdict', control, name, 'difference, bounds', 'sessions'],
            comparisons.map(rowOf),
            2,
          ),
        ])),
    ...(isOff ? [] : ['', `All bounds hold together with ${percent(1 - FALSE_CALLS, 0)}, however often one looks.`]),
  ].join('\n');
}

function rowOf({ measure, verdict, control, arm, difference, calledOn }: ArmComparison): string[] {
  return [
    measureTitles[measure],
    `${verdict.replaceAll('_', ' ')}${calledOn === null ? '' : `, ${calledOn}`}`,
    control?.value.toFixed(4) ?? '',
    arm?.value.toFixed(4) ?? '',
    difference === null
      ? ''
      : `${signedScore(difference.value)} (${signedScore(difference.low)} to ${signedScore(difference.high)})`,
    `${control?.sessions ?? 0}, ${arm?.sessions ?? 0}`,
  ];
}
