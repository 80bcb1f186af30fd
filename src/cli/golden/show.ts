import type { Command } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { findVersion } from '../../app/commands/golden-sets.ts';
import { goldenQueryJson, goldenSetVersionJson } from '../../golden/schema/golden-set.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { formatTable, printJson, printLine } from '../output.ts';

export function showCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'show',
    'Show the latest version of a golden set.',
    'recalld golden show support-faq',
  )
    .argument('<set>', 'name of the golden set')
    .action((name: string, options: ConfiguredOptions) =>
      show(commandSettings(options.config, signal), name, options),
    );
}

async function show(settings: CommandSettings, name: string, options: ConfiguredOptions): Promise<void> {
  const { set, queries } = await withCommandStore(settings, async ({ sets }) => {
    const latest = await findVersion(sets, name);
    return { set: latest, queries: await sets.queries(latest.name, latest.version) };
  });
  if (options.json === true) {
    printJson({ ...goldenSetVersionJson(set), queries: queries.map(goldenQueryJson) });
    return;
  }
  printLine(`${set.name} version ${set.version}, ${set.format}, imported ${set.importedAt.toISOString()}`);
  printLine(`${set.queries} queries, ${set.judgments} judgments, content ${set.contentHash}\n`);
  const rows = queries.map((q) => [
    q.id,
    q.text,
    q.judgments.map((j) => `${j.documentId}:${j.grade}`).join(' '),
  ]);
  printLine(formatTable(['query', 'text', 'judgments'], rows));
}
