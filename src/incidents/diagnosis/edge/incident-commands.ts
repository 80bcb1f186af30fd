/** `recalld incidents`: lists and acknowledges incidents, and marks their causes as right or wrong. */
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { commandStores } from '../../../app/commands/command-store.ts';
import { configuredCommand, parseCount, printJson, printLine } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { commandActor } from '../../../platform/access/audit-log.ts';
import { toWire } from '../../../platform/http/wire.ts';
import { terminalText } from '../../../report/terminal.ts';
import { incidentJson, reliabilitySchema } from '../incident-schema.ts';
import { causeTexts, namedCauses } from '../rules/cause.ts';
import type { Incident } from '../rules/incident.ts';
import { incidentTable } from './pages/diagnosis.ts';
import { reliabilityTable } from './pages/incident-acts.ts';
import { findIncident, markCause } from './routes.ts';

export function incidentsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  const inStore = commandStores(signal);
  command.addCommand(
    configuredCommand('list', 'List incidents, newest first.', 'recalld incidents list --pipeline support-docs')
      .option('--pipeline <name>', 'only incidents of this pipeline')
      .option('--limit <n>', 'maximum number of incidents', parseCount, 20)
      .action(({ pipeline, limit, config, json }) =>
        inStore(config, async ({ db }) => {
          const found = await db.incidents.list({ pipeline, limit });
          if (json === true) printJson(found.map(incidentJson));
          else if (found.length === 0) printLine('No incidents.');
          else printLine(terminalText(incidentTable('Incidents', found), systemClock.now()));
        }),
      ),
  );
  command.addCommand(
    configuredCommand('acknowledge', 'Acknowledge an incident.', 'recalld incidents acknowledge 12')
      .argument('<id>', 'id of the incident')
      .action((id, { config, json }) =>
        inStore(config, async (store) => {
          await findIncident(store, id);
          await store.db.incidents.acknowledge(id, commandActor(), store.clock.now());
          report(await findIncident(store, id), json, `Incident ${id} is acknowledged.`);
        }),
      ),
  );
  command.addCommand(
    configuredCommand(
      'note',
      'Add a note to an incident.',
      'recalld incidents note 12 "the indexing job ran out of memory"',
    )
      .argument('<id>', 'id of the incident')
      .argument('<text>', 'the note')
      .action((id, text, { config, json }) =>
        inStore(config, async (store) => {
          await findIncident(store, id);
          if (text.trim() === '') throw new RecalldError('usage', 'The note is empty.');
          const { name: author, by } = commandActor();
          const note = { subject: 'incident', subjectId: id, text: text.trim(), author } as const;
          await store.db.live.annotations.add({ ...note, createdAt: store.clock.now() }, by);
          report(await findIncident(store, id), json, `The note on incident ${id} is saved.`);
        }),
      ),
  );
  command.addCommand(
    configuredCommand(
      'mark',
      'Mark the diagnosed cause of an incident as right or wrong.',
      'recalld incidents mark 12 wrong --cause ranking',
    )
      .argument('<id>', 'id of the incident')
      .argument('<verdict>', '`right` or `wrong`')
      .addOption(new Option('--cause <cause>', 'the actual cause').choices(namedCauses))
      .action((id, verdict, { cause: actualCause = null, config, json }) =>
        inStore(config, async (store) => {
          if (verdict !== 'right' && verdict !== 'wrong')
            throw new RecalldError('usage', `The verdict must be right or wrong, not ${verdict}.`);
          const { cause } = await findIncident(store, id);
          const mark = { cause, isRight: verdict === 'right', actualCause };
          const marked = await markCause(store, id, mark, commandActor());
          report(marked, json, `The cause of incident ${id} (${causeTexts[cause].title}) is marked as ${verdict}.`);
        }),
      ),
  );
  command.addCommand(
    configuredCommand(
      'reliability',
      'Show how often users marked the diagnosed cause as right.',
      'recalld incidents reliability --pipeline support-docs',
    )
      .option('--pipeline <name>', 'only incidents of this pipeline')
      .action(({ pipeline, config, json }) =>
        inStore(config, async ({ db }) => {
          const items = await db.incidents.reliability(pipeline ?? null);
          if (json === true) return printJson(toWire(reliabilitySchema, { items }));
          const marked = items.reduce((sum, one) => sum + one.marked, 0);
          if (marked === 0) printLine('No cause is marked yet. Mark a cause with `recalld incidents mark ID right`.');
          else
            printLine(`${plural(marked, 'marked cause')}\n${terminalText(reliabilityTable(items), systemClock.now())}`);
        }),
      ),
  );
  return command;
}

function report(incident: Incident, json: boolean | undefined, text: string): void {
  if (json === true) printJson(incidentJson(incident));
  else printLine(text);
}
