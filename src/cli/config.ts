import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { stringify } from 'yaml';
import { commandLogger, readIfThere } from '../app/commands/command-store.ts';
import { configWarnings, redactConfig } from '../app/config/inspect.ts';
import { loadConfigOfDatabase, readConfig } from '../app/config/load.ts';
import { configJsonSchema } from '../app/config/parse.ts';
import { createPipelines } from '../app/pipelines.ts';
import { listChecks } from '../checks/edge/checks-command.ts';
import { expectFalsePagesOf, falsePagesJson, formatFalsePages } from '../checks/edge/false-pages-command.ts';
import type { CheckState } from '../checks/rules/check-state.ts';
import { isBlind } from '../checks/rules/regression.ts';
import { decimal, plural } from '../core/format.ts';
import { toDocument } from '../core/text/names.ts';
import { readSlowSchedules, slowScheduleInWords } from '../golden/edge/commands/slow-schedules.ts';
import { describeCost, expectedCost } from '../judging/expected-cost.ts';
import { createJudgingPlans } from '../judging/plan.ts';
import { type ConfiguredOptions, configuredCommand, note, printJson, printLine } from './output.ts';

export function configCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'check',
      'Validate the config; exit 2 if it is invalid. Also show the expected false pages of each check and the daily cost of the judges. If the database is reachable, list golden sets whose last run took longer than the time between two scheduled runs.',
      'recalld config check --config recalld.yaml',
    )
      .option('--with-runs', 'estimate the false pages of score thresholds from the latest stored runs')
      .action(({ config, withRuns, json }) => check(config, withRuns === true, json === true, signal)),
  );
  command.addCommand(
    configuredCommand(
      'print',
      'Print the config, including defaults and environment variables, with secrets redacted.',
      'recalld config print',
    ).action(print),
  );
  command.addCommand(
    new Command('schema')
      .description('Print the JSON Schema of the config file.')
      .addHelpText('after', '\nExample:\n  recalld config schema > recalld.schema.json')
      .action(() => printJson(configJsonSchema())),
  );
  return command;
}

async function check(
  configFile: string | undefined,
  withRuns: boolean,
  isJson: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { config, file } = loadConfigOfDatabase(configFile);
  const settings = { config, logger: commandLogger(config), signal };
  const pipelines = createPipelines(config, settings.logger);
  const falsePages = await expectFalsePagesOf(settings, pipelines, withRuns);
  const budget = config.alerts.false_pages.per_pipeline;
  const slow = await readSlowSchedules(settings, pipelines);
  const costs = createJudgingPlans(config, pipelines).flatMap((plan) => expectedCost(plan) ?? []);
  const checks = await readIfThere(settings, () => listChecks(settings, null));
  const warnings = [...configWarnings(config), ...checks.filter(isBlind).map(blindInWords)];
  if (isJson) {
    const names = pipelines.map(({ name }) => name);
    const json = falsePages.map((of) => falsePagesJson(of, budget));
    printJson({
      ok: true,
      file,
      pipelines: names,
      warnings,
      false_pages: json,
      judge_costs: toDocument(costs),
      slow_schedules: toDocument(slow),
    });
    return;
  }
  printLine(`${file ?? 'The environment'} is valid: ${plural(config.pipelines.length, 'pipeline')}.`);
  for (const sentence of warnings) note(`Warning: ${sentence}`);
  const report = formatFalsePages(falsePages, budget);
  if (report !== '') printLine(`\n${report}`);
  if (costs.length > 0) printLine(`\n${costs.map(describeCost).join('\n')}`);
  if (slow.length > 0) printLine(`\n${slow.map(slowScheduleInWords).join('\n')}`);
}

function blindInWords({ pipeline, name, smallestDetectableDrop: smallest, threshold }: CheckState): string {
  return (
    `${pipeline}: the check "${name}" is blind: it detects only drops of ${decimal(smallest ?? Number.NaN)} or more, but its threshold is a drop of ` +
    `${decimal(Math.abs(threshold))}. Pin a baseline with \`--reruns 9\`, add queries, or raise \`drop\`.`
  );
}

function print(options: ConfiguredOptions): void {
  const redacted = redactConfig(readConfig(options.config).config);
  if (options.json === true) printJson(redacted);
  else process.stdout.write(stringify(redacted));
}
