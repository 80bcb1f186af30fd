/** `recalld shadow` and `recalld variants`: compare candidates with the retriever or arm that serves users. */

import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore, withPipeline } from '../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { configuredCommand, printJson, printLine } from '../../cli/output.ts';
import type { Context } from '../../core/context.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { terminalText } from '../../report/terminal.ts';
import { createVariantPlans, findVariants, type VariantPlan } from '../plan.ts';
import { findShadow, readShadow, readVariants } from '../read-reports.ts';
import type { ShadowReport, VariantsReport } from '../report.ts';
import { shadowSection, variantsSection } from './shown.ts';

export function shadowCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'report',
      'Report whether a shadow is better or worse than the retriever of its pipeline, and when there will be enough evidence. Exits with 1 if the shadow is worse.',
      'recalld shadow report --pipeline support-docs --shadow new-index',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `shadow`')
      .requiredOption('--shadow <name>', 'name of the shadow')
      .action(({ config, pipeline: name, shadow: shadowName, json }) =>
        withReports(config, name, signal, (pipeline) => {
          const shadow = findShadow(pipeline, shadowName);
          return async (ctx) => {
            const report = await readShadow(ctx, pipeline, shadow);
            answer(json === true, report, shadowText(report), report.verdict === 'regression');
          };
        }),
      ),
  );
  return command;
}

export function variantsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'report',
      'Report whether sessions are split as declared, and whether an arm is better or worse than the first arm. Exits with 1 if an arm is worse or the split differs from the config.',
      'recalld variants report --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `variants`')
      .action(({ config, pipeline, json }) =>
        withReports(config, pipeline, signal, ({ name }, plans) => {
          const plan = findVariants(plans, name);
          return async (ctx) => {
            const report = await readVariants(ctx, plan);
            const isWorse = report.arms.some(({ verdict }) => verdict === 'regression');
            answer(json === true, report, variantsText(report), isWorse || report.split.verdict === 'mismatch');
          };
        }),
      ),
  );
  return command;
}

/**
 * @param find checks the request before any connection is opened, and returns a function that reads and prints the
 * report
 */
async function withReports(
  file: string | undefined,
  name: string,
  signal: AbortSignal,
  find: (pipeline: WatchedPipeline, plans: readonly VariantPlan[]) => (context: Context) => Promise<void>,
): Promise<void> {
  const settings = commandSettings(file, signal);
  const variantPlans = createVariantPlans(settings.config);
  await withPipeline(settings, name, (pipeline) => {
    const read = find(pipeline, variantPlans);
    return withCommandStore(settings, (store) => read({ ...store, pipelines: [pipeline], variantPlans }));
  });
}

function answer(isJson: boolean, report: object, text: string, isFailed: boolean): void {
  if (isJson) printJson(report);
  else printLine(text);
  if (isFailed) process.exitCode = EXIT_CHECK_FAILED;
}

export function shadowText(report: ShadowReport): string {
  return terminalText(shadowSection(report), systemClock.now());
}

function variantsText(report: VariantsReport): string {
  return terminalText(variantsSection(report), systemClock.now());
}
