/** `recalld keys`: who may call the HTTP API. */
import { type Command, InvalidArgumentError } from 'commander';
import { commandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand } from '../cli/configured-command.ts';
import { formatTable, note, printJson, printLine } from '../cli/output.ts';
import { RecalldError } from '../errors.ts';
import { type ApiKey, type ApiScope, apiScopes, type ListedApiKey } from './api-keys.ts';
import { commandUser } from './audit-log.ts';

export function keysCommand(command: Command, signal: AbortSignal): Command {
  command.addCommand(
    configuredCommand(
      'create',
      'Make a key; its text is shown once.',
      'recalld keys create --name rag-service --scope ingest',
    )
      .requiredOption('--name <name>', 'what the key is for')
      .requiredOption('--scope <list>', `what it may do: ${apiScopes.join(', ')}`, parseScopes)
      .action(async (options: ConfiguredOptions & { name: string; scope: readonly ApiScope[] }) => {
        const { key, text } = await withCommandStore(commandSettings(options.config, signal), ({ keys }) =>
          keys.create(options.name, options.scope, commandUser(), new Date()),
        );
        if (options.json === true) printJson({ ...keyJson(key), key: text });
        else {
          printLine(text);
          note(`Key ${key.id} (${key.name}) may ${key.scopes.join(', ')}. It is not shown again.`);
        }
      }),
  );
  command.addCommand(
    configuredCommand(
      'list',
      'List the keys, never their texts, and how many are signed in at the console with each.',
      'recalld keys list',
    ).action(async (options: ConfiguredOptions) => {
      const keys = await withCommandStore(commandSettings(options.config, signal), (store) => store.keys.list());
      if (options.json === true) printJson(keys.map(listedKeyJson));
      else if (keys.length === 0) printLine('No key yet; `recalld keys create --name NAME --scope ingest` makes one.');
      else {
        const rows = keys.map((key) => [
          key.id,
          key.name,
          key.scopes.join(', '),
          key.revokedAt === null ? 'valid' : 'revoked',
          `${key.sessions}`,
          key.lastSeenAt?.toISOString() ?? '',
        ]);
        printLine(formatTable(['id', 'name', 'scopes', 'state', 'signed in', 'last seen'], rows));
      }
    }),
  );
  command.addCommand(
    configuredCommand(
      'revoke',
      'Revoke a key: its console sessions end at once, and its API calls within seconds.',
      'recalld keys revoke 3f9a1c2b',
    )
      .argument('<id>', 'id of the key')
      .action(async (id: string, options: ConfiguredOptions) => {
        const revoked = await withCommandStore(commandSettings(options.config, signal), ({ keys }) =>
          keys.revoke(id, commandUser(), new Date()),
        );
        if (!revoked)
          throw new RecalldError('key_unknown', `There is no key ${id}; \`recalld keys list\` shows those that exist.`);
        if (options.json === true) printJson({ id, revoked });
        else printLine(`Key ${id} is revoked.`);
      }),
  );
  return command;
}

function keyJson({ id, name, scopes, createdAt, revokedAt }: ApiKey) {
  return {
    id,
    name,
    scopes,
    created_at: createdAt.toISOString(),
    revoked_at: revokedAt?.toISOString() ?? null,
  };
}

function listedKeyJson(key: ListedApiKey) {
  return { ...keyJson(key), sessions: key.sessions, last_seen_at: key.lastSeenAt?.toISOString() ?? null };
}

function parseScopes(text: string): readonly ApiScope[] {
  const scopes = text.split(',').map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !(apiScopes as readonly string[]).includes(scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no scope; the scopes are ${apiScopes.join(', ')}.`);
  return scopes as ApiScope[];
}
