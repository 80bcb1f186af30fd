/** `recalld deployments`: annotates and lists pipeline changes. */

import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { configuredCommand, parseCount, parseTime, printJson, printLine } from '../../../cli/output.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { commandUser } from '../../../platform/access/audit-log.ts';
import { toWire } from '../../../platform/http/wire.ts';
import { terminalText } from '../../../report/terminal.ts';
import { deploymentKinds } from '../rules/deployment.ts';
import { deploymentTable } from './deployments-page.ts';
import { deploymentSchema } from './routes.ts';

export function deploymentsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'add',
      'Record a change, so that charts show it and diagnoses consider it.',
      'recalld deployments add --pipeline support-docs --kind index --version 2026-11-20 --note "ef_search 40 -> 100"',
    )
      .requiredOption('--pipeline <name>', 'configured pipeline')
      .addOption(new Option('--kind <kind>', 'what changed').choices(deploymentKinds).makeOptionMandatory())
      .requiredOption('--version <version>', 'the new version')
      .option('--note <text>', 'reason for the change')
      .option('--at <time>', 'when the change took effect (default: now)', parseTime)
      .action(async (options) => {
        const settings = commandSettings(options.config, signal);
        assertConfiguredPipeline(settings.config, options.pipeline);
        const { pipeline, kind, version, note = null, at: occurredAt = new Date() } = options;
        const deployment = await withCommandStore(settings, ({ db }) =>
          db.live.deployments.annotate({ pipeline, kind, version, note, occurredAt }, commandUser(), new Date()),
        );
        if (options.json === true) printJson(toWire(deploymentSchema, deployment));
        else printLine(`Recorded: the ${kind} of ${pipeline} changed to ${version} at ${occurredAt.toISOString()}.`);
      }),
  );
  command.addCommand(
    configuredCommand('list', 'List changes, newest first.', 'recalld deployments list --pipeline support-docs')
      .option('--pipeline <name>', 'only changes to this pipeline')
      .option('--limit <n>', 'maximum number of changes', parseCount, 20)
      .action(async (options) => {
        const { pipeline, limit } = options;
        const found = await withCommandStore(commandSettings(options.config, signal), ({ db }) =>
          db.live.deployments.list({ pipeline, limit }),
        );
        if (options.json === true) printJson(toWire(z.array(deploymentSchema), found));
        else if (found.length === 0) printLine('No changes yet. Record a change with `recalld deployments add`.');
        else printLine(terminalText(deploymentTable('Changes', found, new Map(), null, true), systemClock.now()));
      }),
  );
  return command;
}
