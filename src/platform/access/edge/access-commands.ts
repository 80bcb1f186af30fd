/** `recalld keys` manages API keys; `recalld audit` lists recorded changes. */

import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import {
  configuredCommand,
  formatTable,
  note,
  parseCount,
  parseTime,
  printJson,
  printLine,
  withConfig,
} from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { toDocument } from '../../../core/text/names.ts';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { commandUser, type RecordedAct } from '../audit-log.ts';
import { type ApiKey, type ApiScope, apiScopes } from '../credentials.ts';

export function keysCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'create',
      'Create an API key; the key itself is shown only once.',
      'recalld keys create --name rag-service --scope ingest',
    )
      .requiredOption('--name <name>', 'what the key is for')
      .requiredOption('--scope <list>', `comma-separated scopes: ${apiScopes.join(', ')}`, parseScopes)
      .option('--pipelines <list>', 'comma-separated pipelines; the key cannot see or change anything else', parseNames)
      .action(async ({ name, scope, pipelines = null, ...options }) => {
        const settings = commandSettings(options.config, signal);
        // A key for a misspelled pipeline name would have no access to any pipeline.
        for (const pipeline of pipelines ?? []) findPipeline(settings.config.pipelines, pipeline);
        const { key, text } = await withCommandStore(settings, ({ db }) =>
          db.platform.keys.create(name, scope, commandUser(), new Date(), pipelines),
        );
        if (options.json === true) printJson({ ...toDocument(key), key: text });
        else {
          printLine(text);
          note(
            `Created key ${key.id} (${key.name}) with scope ${key.scopes.join(', ')}${limitOf(key)}. The key itself is not shown again.`,
          );
        }
      }),
  );
  command.addCommand(
    configuredCommand('list', 'List the API keys and count their console sessions.', 'recalld keys list').action(
      async (options) => {
        const keys = await withCommandStore(commandSettings(options.config, signal), (store) =>
          store.db.platform.keys.list(),
        );
        if (options.json === true) printJson(toDocument(keys));
        else if (keys.length === 0)
          printLine('No API keys. Create a key with `recalld keys create --name NAME --scope ingest`.');
        else {
          const rows = keys.map((key) => [
            key.id,
            key.name,
            key.scopes.join(', '),
            key.pipelines?.join(', ') ?? 'all',
            key.revokedAt === null ? 'valid' : 'revoked',
            `${key.sessions}`,
            key.lastSeenAt?.toISOString() ?? '',
          ]);
          printLine(formatTable(['id', 'name', 'scopes', 'pipelines', 'state', 'signed in', 'last seen'], rows));
        }
      },
    ),
  );
  command.addCommand(
    configuredCommand(
      'revoke',
      'Revoke an API key. Console sessions of the key end immediately; API calls with the key fail within seconds.',
      'recalld keys revoke 3f9a1c2b',
    )
      .argument('<id>', 'id of the API key')
      .action(async (id, options) => {
        const revoked = await withCommandStore(commandSettings(options.config, signal), ({ db }) =>
          db.platform.keys.revoke(id, commandUser(), new Date()),
        );
        if (!revoked)
          throw new RecalldError('key_unknown', `There is no API key ${id}; \`recalld keys list\` shows all keys.`);
        if (options.json === true) printJson({ id, revoked });
        else printLine(`Revoked key ${id}.`);
      }),
  );
  return command;
}

function limitOf({ pipelines }: ApiKey): string {
  return pipelines === null ? '' : ` for ${pipelines.join(', ')} only`;
}

function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('Write the names of pipelines, separated by commas.');
  return [...new Set(names)];
}

function parseScopes(text: string): readonly ApiScope[] {
  const scopes = text.split(',').map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !(apiScopes as readonly string[]).includes(scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not a scope; use ${apiScopes.join(', ')}.`);
  return scopes as ApiScope[];
}

export function auditCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld audit --since 2026-11-01T00:00:00Z')
    .option('--pipeline <name>', 'only changes to this pipeline')
    .option('--since <time>', 'only changes since this time', parseTime)
    .option('--limit <n>', 'maximum number of entries', parseCount, 50)
    .action(async ({ config, json, ...filter }) => {
      const found = await withCommandStore(commandSettings(config, signal), ({ db }) =>
        db.platform.auditLog.list(filter),
      );
      if (json === true) printJson(found);
      else if (found.length === 0) printLine('No recorded changes.');
      else
        printLine(
          formatTable(['time', 'user', 'action', 'pipeline', 'subject', 'before', 'after'], found.map(rowOf), 5),
        );
    });
}

function rowOf({ at, by, act, pipeline, subject, before, after }: RecordedAct): string[] {
  return [at.toISOString(), by, act.replaceAll('_', ' '), pipeline ?? '', subject, valuesOf(before), valuesOf(after)];
}

function valuesOf(change: RecordedAct['before']): string {
  return Object.entries(change ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
