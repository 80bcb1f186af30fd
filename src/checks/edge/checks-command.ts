/** `recalld checks`: the state of every check, or its changes. */

import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { z } from 'zod';
import { type CommandSettings, commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { parseCount, parseTime, printJson, printLine, withConfig } from '../../cli/output.ts';
import { systemClock } from '../../core/system-clock.ts';
import { toWire } from '../../platform/http/wire.ts';
import { terminalText } from '../../report/terminal.ts';
import { readCheckStates } from '../check-store.ts';
import type { CheckState } from '../rules/check-state.ts';
import { checkTable } from './check-table.ts';
import { transitionTable } from './checks-page.ts';
import { checkStateJson, transitionSchema } from './routes.ts';

export function checksCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld checks --pipeline support-docs --history --since 2026-11-01T00:00:00Z')
    .option('--pipeline <name>', 'only checks of this pipeline')
    .option('--history', 'list verdict changes, newest first')
    .option('--check <name>', 'with --history: only this check')
    .option('--since <time>', 'with --history: show only changes at or after this time', parseTime)
    .option('--limit <n>', 'with --history: maximum number of changes', parseCount, 20)
    .action(async (options) => {
      const settings = commandSettings(options.config, signal);
      if (options.history === true) {
        const { pipeline, check, since, limit } = options;
        if (pipeline !== undefined) assertConfiguredPipeline(settings.config, pipeline);
        const filter = { pipeline, check, since, limit };
        const found = await withCommandStore(settings, ({ db }) => db.checks.transitions(filter));
        if (options.json === true) printJson(toWire(z.array(transitionSchema), found));
        else if (found.length === 0) printLine('No check changed its verdict in this period.');
        else printLine(terminalText(transitionTable(found), systemClock.now()));
        return;
      }
      const found = await listChecks(settings, options.pipeline ?? null);
      const now = systemClock.now();
      if (options.json === true) printJson(found.map((state) => checkStateJson(state, now)));
      else if (found.length === 0) printLine('No checks are configured; add a check under `checks` in a pipeline.');
      else printLine(terminalText(checkTable('Checks', found, true), now));
      if (found.some(({ verdict }) => verdict === 'critical')) process.exitCode = EXIT_CHECK_FAILED;
    });
}

/**
 * Returns the states of all checks, or of one pipeline's checks, in config order.
 *
 * @throws RecalldError pipeline_unknown, and the errors of withCommandStore
 */
export async function listChecks(settings: CommandSettings, pipeline: string | null): Promise<CheckState[]> {
  if (pipeline !== null) assertConfiguredPipeline(settings.config, pipeline);
  return withCommandStore(settings, async (store) => {
    const states = await readCheckStates(store);
    return states.filter((state) => pipeline === null || state.pipeline === pipeline);
  });
}
