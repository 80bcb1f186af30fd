import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { sparkline, styled } from '../../../src/cli/output.ts';

describe('text for terminals', () => {
  it('draws a trend from the minimum to the maximum, with gaps', () => {
    expect(sparkline([0, 0.5, 1, null, 0])).toBe('▁▅█ ▁');
    expect(sparkline([0.8, 0.8])).toBe('▅▅');
    expect(sparkline([])).toBe('');
  });

  it('has colors on a terminal, and shows the control characters of data escaped', () => {
    const hostile = '\u001b[2J\u001b[31mid\u0007\u009b1A\u202e\r';
    const script = `
      import { formatTable, printJson, printLine, styled } from ${JSON.stringify(new URL('../../../src/cli/output.ts', import.meta.url).href)};
      const hostile = ${JSON.stringify(hostile)};
      printLine(styled('red', hostile) + hostile);
      printLine(formatTable(['id', 'n'], [[styled('bold', 'a\\nb'), '1'], [hostile + '\\n', '2']], 1));
      printJson({ id: hostile });`;
    const colors = { ...process.env, FORCE_COLOR: '1' };
    const args = ['--import', 'tsx', '--input-type=module', '-e', script];
    const stdout = execFileSync(process.execPath, args, { encoding: 'utf8', env: colors });
    const shown = String.raw`\x1b[2J\x1b[31mid\x07\x9b1A\u202e\x0d`;
    expect(stdout.split('\n')[0]).toBe(`\u001b[31m${shown}\u001b[39m${shown}`);
    expect(stdout).toContain('\u001b[1ma\\nb\u001b[22m');
    expect(stdout).toContain(`${shown}\\n`);
    // oxlint-disable-next-line no-control-regex -- the color codes of the program itself.
    const own = stdout.replaceAll(/\u001b\[(?:1|22|31|39)m/g, '');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no control character may remain.
    // oxlint-disable-next-line no-control-regex -- no control character may remain.
    expect(own).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const json = own.slice(own.indexOf('{'));
    expect(JSON.parse(json)).toEqual({ id: hostile });
  });

  it('has no colors in a file or a pipe', () => {
    expect(styled('red', 'critical')).toBe('critical');
  });
});
