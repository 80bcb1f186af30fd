/** docs/reference/commands.md: the help of every command, and what `--json` prints. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.ts';
import { type JsonDocument, jsonDocuments } from './json-documents.ts';
import { code, generatedPage, type Page } from './page.ts';

const WIDTH = 100;

export async function commandsPage(): Promise<Page> {
  const program = await createProgram('all', new AbortController().signal);
  return generatedPage(
    'docs/reference/commands.md',
    ['src/cli', 'docs/build/json-documents.ts'],
    [
      '# Commands',
      'This page shows the `--help` of each command. Commands print results to stdout, and notes, logs and progress to stderr; progress appears only on a terminal. Exit codes: 0 success; 1 a check failed, a regression was found, or a run is void; 2 invalid usage, config or input; 3 a service is unreachable; 130 interrupted; 70 a bug in recalld.',
      '`--json` prints one JSON document. Keys are in snake case, times are ISO 8601 in UTC, shares are between 0 and 1, and unknown values are null.',
      ...program.commands.flatMap((command) => sections(command, '')),
    ],
  );
}

function sections(command: CommandUnknownOpts, parent: string): string[] {
  const name = `${parent}${command.name()}`;
  if (command.commands.length > 0)
    return [`## ${name}`, command.description(), ...command.commands.flatMap((child) => sections(child, `${name} `))];
  const json = jsonDocuments[name];
  return [
    `${parent === '' ? '##' : '###'} ${name}`,
    `\`\`\`text\n${helpOf(command).trim()}\n\`\`\``,
    ...(json === undefined ? [] : [jsonSentence(json)]),
  ];
}

function helpOf(command: CommandUnknownOpts): string {
  let text = '';
  command.configureHelp({ ...command.configureHelp(), helpWidth: WIDTH });
  command.configureOutput({ writeOut: (part) => void (text += part) });
  command.outputHelp();
  return text.replaceAll(/ +$/gm, '');
}

function jsonSentence({ is, keys, more }: JsonDocument): string {
  const names = [keys.slice(0, -1).map(code).join(', '), ...keys.slice(-1).map(code)].filter(Boolean).join(' and ');
  const what =
    is === 'list'
      ? `a list; each element has ${names}`
      : keys.length === 0
        ? 'an object'
        : `an object that contains ${names}`;
  return `\`--json\`: ${what}.${more === undefined ? '' : ` ${more}`}`;
}
