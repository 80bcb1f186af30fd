/** Finds recalld command lines in documents and messages, and checks whether they are valid. */
import { CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.ts';

/** Returns a program in which every command can be parsed but does nothing. */
export async function createDryProgram(): Promise<CommandUnknownOpts> {
  const program = await createProgram('all', new AbortController().signal);
  for (const command of [program, ...descendantsOf(program)]) {
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
  }
  return program;
}

export function descendantsOf(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return command.commands.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Returns the words that select a command, such as `golden run`. */
export function pathOf(command: CommandUnknownOpts): string {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** Matches positions where a shell expects the name of a program. */
const starts = /(?:^|npx |&& |\| |then |exec |\$\(|<\()\s*recalld (?=\S)([^`]*)/g;

/** Returns the words after `recalld` for every call in a block of shell lines. */
export function callsIn(block: string): string[][] {
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => [...line.trim().matchAll(starts)].map(([, rest = '']) => wordsOf(rest)));
}

/** Splits text into words as a shell would, and stops at the end of the first command. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(/"[^"]*"|'[^']*'|[^\s"']+/g)) {
    if (/^(#|\||;|&&|>|<|\)|2>)/.test(word)) break;
    words.push(word.replace(/^["']|["']$/g, '').replace(/[);]+$/, ''));
    if (/[);]$/.test(word)) break;
  }
  return words;
}

/** A placeholder for user input: `RUN`, `SET_NAME`, `P`. */
const placeholder = /^[A-Z][A-Z_]*$|^…$|^\.\.\.$/;

/**
 * Returns the reason why a complete command line is invalid; null if it is valid. If a word is a placeholder, only the
 * checks of `mistakeIn` apply.
 */
export async function refusalOf(program: CommandUnknownOpts, words: readonly string[]): Promise<string | null> {
  const problem = mistakeIn(program, words);
  if (problem !== null || words.some((word) => placeholder.test(word))) return problem;
  try {
    await program.parseAsync([...words], { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? null : `recalld ${words.join(' ')}: ${error.message}`;
  }
}

/**
 * Returns the reason why a command line is invalid; null if it is valid. Arguments may be missing, because prose often
 * omits them.
 */
export function mistakeIn(program: CommandUnknownOpts, words: readonly string[]): string | null {
  const line = `recalld ${words.join(' ')}`;
  let command = program;
  let values = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word.startsWith('--')) {
      const [flag, inline] = word.split('=', 2);
      const option = command
        .createHelp()
        .visibleOptions(command)
        .find(({ long }) => long === flag);
      if (option === undefined) return `${line}: there is no ${flag}`;
      if (!option.required && !option.optional) continue;
      const value = inline ?? words[++at];
      if (value === undefined) continue;
      const choices = option.argChoices ?? [value];
      if (!placeholder.test(value) && !choices.includes(value)) return `${line}: ${flag} takes no ${value}`;
      while (option.variadic && words[at + 1]?.startsWith('--') === false) at += 1;
      continue;
    }
    if (command.commands.length === 0) values += 1;
    else {
      const next = command.commands.find((child) => child.name() === word);
      if (next === undefined) return `${line}: there is no command ${word}`;
      command = next;
    }
  }
  const takesMore = command.registeredArguments.at(-1)?.variadic === true;
  if (values > command.registeredArguments.length && !takesMore) return `${line}: it accepts fewer words`;
  return null;
}
