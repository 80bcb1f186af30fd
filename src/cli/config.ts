/** `recalld config`: check, print and describe the config. */
import { Command } from 'commander';
import { stringify } from 'yaml';
import { loadConfig } from '../app/config-file.ts';
import { createPipelines } from '../app/pipelines.ts';
import { inactiveFields, redactConfig } from '../contracts/config/inspect.ts';
import { configJsonSchema } from '../contracts/config/parse.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { printJson, printLine } from './output.ts';

export function configCommand(): Command {
  const command = new Command('config').description('Check, print or describe the config.');
  command.addCommand(
    configuredCommand(
      'check',
      'Validate the config; exit 2 when something is wrong.',
      'recalld config check --config recalld.yaml',
    ).action(check),
  );
  command.addCommand(
    configuredCommand(
      'print',
      'Print the config with defaults and environment merged in, secrets redacted.',
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

function check(options: ConfiguredOptions): void {
  const { config, file } = loadConfig(options.config);
  // Templates and JMESPath expressions are compiled here, so that they fail now and not in the first run.
  createPipelines(config);
  const inactive = inactiveFields(config);
  if (options.json === true) {
    printJson({ ok: true, file, pipelines: config.pipelines.map((pipeline) => pipeline.name), inactive });
    return;
  }
  printLine(`${file ?? 'The default config'} is valid: ${config.pipelines.length} pipelines.`);
  for (const field of inactive)
    printLine(`Note: ${field} is accepted, but this version does not act on it yet.`);
}

function print(options: ConfiguredOptions): void {
  const redacted = redactConfig(loadConfig(options.config).config);
  if (options.json === true) printJson(redacted);
  else process.stdout.write(stringify(redacted));
}
