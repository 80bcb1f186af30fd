/** `recalld shadow` and `recalld variants`: compare candidates with the retriever or arm that serves users. */

import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore, withPipeline } from '../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { configuredCommand, printJson, printLine } from '../../cli/output.ts';
import { systemClock } from '../../core/system-clock.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import type { Section } from '../../report/model/content.ts';
import { terminalText } from '../../report/terminal.ts';
import { createVariantPlans, findVariants } from '../plan.ts';
import { findShadow, readShadow, readVariants } from '../read-reports.ts';
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
      .action(({ config, pipeline: name, shadow: shadowName, json }) => {
        const settings = commandSettings(config, signal);
        return withPipeline(settings, name, async (pipeline) => {
          const shadow = findShadow(pipeline, shadowName);
          const report = await withCommandStore(settings, (store) => readShadow(store, pipeline, shadow));
          answer(json === true, report, shadowSection(report), report.verdict === 'regression');
        });
      }),
  );
  return command;
}

export function variantsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'report',
      'Report whether sessions are split as configured, and whether an arm is better or worse than the first arm. Exits with 1 if an arm is worse or if the split differs from the config.',
      'recalld variants report --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline whose config has `variants`')
      .action(async ({ config, pipeline, json }) => {
        const settings = commandSettings(config, signal);
        const { name } = findPipeline(settings.config.pipelines, pipeline);
        const plan = findVariants(createVariantPlans(settings.config), name);
        const report = await withCommandStore(settings, (store) => readVariants(store, plan));
        const isWorse = report.arms.some(({ verdict }) => verdict === 'regression');
        answer(json === true, report, variantsSection(report), isWorse || report.split.verdict === 'mismatch');
      }),
  );
  return command;
}

function answer(isJson: boolean, report: object, section: Section, isFailed: boolean): void {
  if (isJson) printJson(report);
  else printLine(terminalText(section, systemClock.now()));
  if (isFailed) process.exitCode = EXIT_CHECK_FAILED;
}
