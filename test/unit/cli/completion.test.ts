import { spawnSync } from 'node:child_process';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript, type Shell } from '../../../src/cli/completion-script.ts';

function aProgram(): Command {
  const program = new Command('recalld').option('--version', 'the version');
  const golden = new Command('golden').description("What's known: golden sets.");
  golden.addCommand(new Command('run').description('Run one.').option('--set <name>', 'which'));
  golden.addCommand(new Command('list').description('List them.'));
  return program.addCommand(golden).addCommand(new Command('status').description('At a glance.'));
}

/** What bash offers after a line, by sourcing the script as a user does. */
function offered(...words: readonly string[]): string[] {
  const program = `
    eval "$SCRIPT"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _recalld
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program, 'bash', 'recalld', ...words], {
    encoding: 'utf8',
    env: { ...process.env, SCRIPT: completionScript(aProgram(), 'bash') },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion in bash', () => {
  it('offers commands and options of where one is', () => {
    expect(offered('')).toEqual(expect.arrayContaining(['golden', 'status', '--help']));
    expect(offered('go')).toEqual(['golden']);
    expect(offered('golden', '')).toEqual(expect.arrayContaining(['run', 'list']));
    expect(offered('golden', 'run', '--s')).toEqual(['--set']);
  });

  it('knows where one is behind options and their values', () => {
    expect(offered('golden', 'run', '--set', 'faq', '--s')).toEqual(['--set']);
    expect(offered('status', 'golden', 'ru')).toEqual([]);
  });
});

describe('a completion script', () => {
  it.each<Shell>(['bash', 'zsh', 'fish'])('names every command, for %s', (shell) => {
    const script = completionScript(aProgram(), shell);
    for (const word of ['golden', 'run', 'list', 'status']) expect(script).toContain(word);
  });

  it.each<Shell>(['zsh', 'fish'])('is read by %s where it is installed', (shell) => {
    const { error, status, stderr } = spawnSync(shell, ['-n'], {
      input: completionScript(aProgram(), shell),
      encoding: 'utf8',
    });
    const isInstalled = error === undefined;
    expect(isInstalled ? { status, stderr } : null).toEqual(isInstalled ? { status: 0, stderr: '' } : null);
  });
});
