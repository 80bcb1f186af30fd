/** Tests that every recalld command line in the repository is valid. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { beforeAll, describe, expect, it } from 'vitest';
import { documentedAlerts } from '../../docs/build/runbooks-page.ts';
import { EXIT_BUG, EXIT_CHECK_FAILED, EXIT_OK, exitCodeOfKind } from '../../src/cli/exit.ts';
import { callsIn, createDryProgram, descendantsOf, mistakeIn, pathOf, refusalOf } from './command-lines.ts';
import { sourceFiles } from './source-files.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Page {
  readonly file: string;
  readonly text: string;
}

const filesOf = (ending: RegExp): Page[] =>
  ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', '.env.example', 'docker-compose.yml', 'Dockerfile']
    .concat(
      ['docs', 'deploy', 'examples', 'bench'].flatMap((folder) =>
        readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
      ),
    )
    .filter((file) => ending.test(file))
    .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

const pages = filesOf(/\.md$/);
const scripts = filesOf(/\.(sh|ya?ml|service|example|sql)$|^Dockerfile$/);

let program: CommandUnknownOpts;
beforeAll(async () => {
  program = await createDryProgram();
  // Loads every command.
}, 60_000);

const blocksOf = (text: string) =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)]
    .filter(([, language = '']) => ['', 'sh', 'bash', 'console'].includes(language))
    .map(([, , block = '']) => block);

const spansOf = (text: string) =>
  [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, span = '']) =>
    span.replaceAll('\n', ' '),
  );

/**
 * Commands are between escaped backticks in template literals, and between plain backticks in other strings and in
 * comments.
 */
const quoted = /\\`(recalld [a-z][^`\\]*)\\`|^.*['"*].*?`(recalld [a-z][^`\\]*)`/gm;

/** Matches the names of PostgreSQL connections, which `pg_stat_activity` shows. */
const connection = /^recalld (?:api|worker|scheduler|command|vector store)\b/;

describe('a documented command', () => {
  it.each(pages)('is valid: $file', async ({ text }) => {
    const calls = blocksOf(text).flatMap(callsIn);
    const refused = await Promise.all(calls.map((words) => refusalOf(program, words)));
    const mistakes = spansOf(text)
      .filter((span) => !connection.test(span))
      .flatMap(callsIn)
      .map((words) => mistakeIn(program, words));
    expect([...refused, ...mistakes].filter((problem) => problem !== null)).toEqual([]);
  });

  it.each(scripts)('is valid: $file', async ({ text }) => {
    const typed = text.replaceAll(/\{\{.*?\}\}/g, '').replaceAll(/^(?:#|--) {3}|^ExecStart=\S*\//gm, '');
    const lists = [...typed.matchAll(/^\s*(?:args|command|CMD|ENTRYPOINT):? \[([^\]]+)\]/gm)]
      .map(([, list = '']) => list.split(',').map((word) => word.trim().replaceAll(/^["']|["']$/g, '')))
      .filter(([first = '']) => program.commands.some((command) => command.name() === first));
    const problems = [...callsIn(typed), ...lists].map((words) => mistakeIn(program, words));
    expect(problems.filter((problem) => problem !== null)).toEqual([]);
  });

  it('is valid in messages and alerts', () => {
    const files = sourceFiles('src').map(({ path: file, text }) => ({ file, text }));
    const alerts = documentedAlerts().map(({ alert, summary, description }) => ({
      file: alert,
      text: `${summary} ${description}`,
    }));
    const problems = [...files, ...alerts].flatMap(({ file, text }) =>
      [...text.matchAll(quoted)]
        .flatMap(([, escaped, plain]) => callsIn((escaped ?? plain ?? '').replaceAll(/\$\{[^}]*\}/g, 'VALUE')))
        .flatMap((words) => mistakeIn(program, words) ?? [])
        .map((problem) => `${file}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });

  it('is documented only with existing exit codes', () => {
    const codes = new Set([EXIT_OK, EXIT_CHECK_FAILED, EXIT_BUG, ...Object.values(exitCodeOfKind)]);
    const unknown = [...pages, ...scripts].flatMap(({ file, text }) =>
      [...text.matchAll(/\bexit(?:s|ed)?(?:\s+codes?)?(?:\s+with)?:?\s+`?(\d+)/gi)]
        .filter(([, code]) => !codes.has(Number(code)))
        .map(([found]) => `${file}: ${found}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe('the help of a command', () => {
  const helpOf = (command: CommandUnknownOpts): string => {
    let text = '';
    command.configureOutput({ writeOut: (part) => void (text += part) });
    command.outputHelp();
    return text;
  };

  it('has a one-sentence description and ends with valid examples', async () => {
    const wrong: string[] = [];
    for (const command of descendantsOf(program)) {
      const text = helpOf(command);
      const name = pathOf(command);
      if (!/^[A-Z].*\.$/.test(command.description())) wrong.push(`${name}: the description is not a sentence`);
      for (const { long, description } of command.options)
        if (description === '' || /[.]$/.test(description)) wrong.push(`${name} ${long}: ${description}`);
      if (command.commands.length > 0) continue;
      const [, examples = ''] = /\nExamples?:\n([\s\S]*?)(?:\n\n|$)/.exec(text) ?? [];
      const calls = callsIn(examples);
      if (calls.length === 0) wrong.push(`${name}: there is no example`);
      for (const words of calls) {
        const refusal = await refusalOf(program, words);
        if (refusal !== null) wrong.push(refusal);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('has an example of that command', () => {
    const wrong = descendantsOf(program)
      .filter(({ commands }) => commands.length === 0)
      .filter((command) => !helpOf(command).includes(`recalld ${pathOf(command)}`))
      .map(pathOf);
    expect(wrong).toEqual([]);
  });
});
