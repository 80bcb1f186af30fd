/** `recalld silence`: suppresses the messages and alerts of a pipeline, for example during maintenance. */
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandStores } from '../../../app/commands/command-store.ts';
import { configuredCommand, parseTime, printJson, printLine } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { minute } from '../../../core/format.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { commandActor } from '../../../platform/access/audit-log.ts';
import { durationMs, durationSchema } from '../../../platform/config/times.ts';
import { toWire } from '../../../platform/http/wire.ts';
import { terminalText } from '../../../report/terminal.ts';
import { addSilence, endSilence } from '../silences.ts';
import { silenceTable } from './silence-panel.ts';
import { silenceSchema } from './silence-routes.ts';

export function silenceCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  const inStore = commandStores(signal);
  command.addCommand(
    configuredCommand(
      'add',
      'Silence a pipeline.',
      'recalld silence add --pipeline support-docs --for 2h --reason "index rebuild"',
    )
      .requiredOption('--pipeline <name>', 'the pipeline')
      .requiredOption('--reason <text>', 'reason for the silence, shown to other users')
      .option('--for <duration>', 'duration, such as 30m, 2h or 1d')
      .option('--from <time>', 'start (default: now)', parseTime)
      .option('--until <time>', 'end, instead of --for', parseTime)
      .action(({ pipeline, reason, for: length, from, until, config, json }) =>
        inStore(config, async (store) => {
          const startsAt = from ?? store.clock.now();
          const silence = { pipeline, reason, startsAt, endsAt: endOf(startsAt, length, until) };
          const added = await addSilence(store, silence, commandActor());
          if (json === true) printJson(toWire(silenceSchema, added));
          else
            printLine(
              `Silence ${added.id} added: ${pipeline} is silenced from ${minute(added.startsAt)} to ${minute(added.endsAt)} UTC.`,
            );
        }),
      ),
  );
  command.addCommand(
    configuredCommand('list', 'List current and planned silences.', 'recalld silence list')
      .option('--pipeline <name>', 'only silences of this pipeline')
      .action(({ pipeline, config, json }) =>
        inStore(config, async ({ db, clock }) => {
          const found = await db.silences.endingAfter(clock.now(), pipeline ?? null);
          if (json === true) printJson(found.map((one) => toWire(silenceSchema, one)));
          else if (found.length === 0) printLine('No silence is active or planned.');
          else printLine(terminalText(silenceTable(found, clock.now()), systemClock.now()));
        }),
      ),
  );
  command.addCommand(
    configuredCommand('end', 'End a silence.', 'recalld silence end 3')
      .argument('<id>', 'id of the silence')
      .action((id, { config, json }) =>
        inStore(config, async (store) => {
          const ended = await endSilence(store, id, commandActor());
          if (json === true) printJson(toWire(silenceSchema, ended));
          else printLine(`Silence ${id} for ${ended.pipeline} has ended.`);
        }),
      ),
  );
  return command;
}

/** @throws RecalldError usage */
function endOf(startsAt: Date, length: string | undefined, until: Date | undefined): Date {
  if ((length === undefined) === (until === undefined))
    throw new RecalldError('usage', 'Set the end of the silence with either --for or --until.');
  if (until !== undefined) return until;
  if (!durationSchema('1m', '90d').safeParse(length).success)
    throw new RecalldError('usage', `--for must be a duration from 1m to 90d, such as 2h, not "${length}".`);
  return new Date(startsAt.getTime() + durationMs(length ?? ''));
}
