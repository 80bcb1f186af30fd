/** `recalld golden list` and `recalld golden show`. */
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandSettings, commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand } from '../../cli/configured-command.ts';
import { formatTable, printJson, printLine } from '../../cli/output.ts';
import { goldenQueryJson, goldenSetVersionJson } from '../golden-set-schema.ts';
import { findVersion } from '../sets/import-golden-set.ts';

export function listCommand(signal: AbortSignal): Command {
  return configuredCommand('list', 'List every version of every golden set.', 'recalld golden list').action(
    (options: ConfiguredOptions) => list(commandSettings(options.config, signal), options),
  );
}

async function list(settings: CommandSettings, options: ConfiguredOptions): Promise<void> {
  const versions = await withCommandStore(settings, ({ sets }) => sets.list());
  if (options.json === true) printJson(versions.map(goldenSetVersionJson));
  else if (versions.length === 0)
    printLine('No golden set has been imported yet; `recalld golden import PATH --set NAME` does it.');
  else {
    const rows = versions.map((v) => [
      v.name,
      v.format,
      v.importedAt.toISOString(),
      `${v.version}`,
      `${v.queries}`,
      `${v.judgments}`,
    ]);
    printLine(formatTable(['set', 'format', 'imported', 'version', 'queries', 'judgments'], rows, 3));
  }
}

export function showCommand(signal: AbortSignal): Command {
  return configuredCommand('show', 'Show the latest version of a golden set.', 'recalld golden show support-faq')
    .argument('<set>', 'name of the golden set')
    .action((name: string, options: ConfiguredOptions) =>
      showSet(commandSettings(options.config, signal), name, options),
    );
}

async function showSet(settings: CommandSettings, name: string, options: ConfiguredOptions): Promise<void> {
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
  const rows = queries.map((q) => [q.id, q.text, q.judgments.map((j) => `${j.documentId}:${j.grade}`).join(' ')]);
  printLine(formatTable(['query', 'text', 'judgments'], rows));
}

/** The value of `--set`. */
export function parseSetName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 100 of letters, digits, dot, dash and underscore.');
}
