/** Command output: one JSON document, or text with tables, colors and small charts. */
import { randomInt } from 'node:crypto';
import { styleText } from 'node:util';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import Table from 'cli-table3';
import { visibleJson, visibleText } from '../core/text/visible-text.ts';

type Format = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

/**
 * Random number that marks the color codes of this process. Color codes in texts from services, files and users lack
 * this number and are escaped.
 */
const seal = randomInt(10_000, 100_000);
const sealed = new RegExp(`(\\x1b\\[)${seal};(\\d+m)`);

/** Styles text on a terminal. Honors NO_COLOR, FORCE_COLOR and similar variables (https://no-color.org). */
export function styled(format: Format, text: string): string {
  const plain = styleText(format, '\n', { stream: process.stdout, validateStream: true });
  const [open = '', close = ''] = plain.split('\n').map((code) => code.replaceAll('\x1b[', `\x1b[${seal};`));
  return `${open}${text}${close}`;
}

/** Removes the color codes that `styled` added. */
export function plain(text: string): string {
  return mapTexts(text, String, () => '');
}

/** Keeps this process's colors, and escapes all other control codes. */
function forTerminal(text: string): string {
  return mapTexts(text, visibleText);
}

function mapTexts(text: string, map: (part: string) => string, mapCode = (code: string): string => code): string {
  // Splitting by a pattern with two groups returns plain text at every third index, and color codes in between.
  const parts = text.split(sealed).map((part, at) => (at % 3 === 0 ? map(part) : mapCode(part)));
  return parts.join('');
}

const formatOf: Readonly<Record<string, Format>> = {
  ok: 'green',
  improvement: 'green',
  warning: 'yellow',
  no_data: 'yellow',
  inconclusive: 'yellow',
  critical: 'red',
  regression: 'red',
};

/** Colors a verdict; returns other texts unchanged. */
export function verdictText(verdict: string): string {
  const format = formatOf[verdict];
  return format === undefined ? verdict : styled(format, verdict);
}

const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/**
 * Draws one bar per value, scaled from the minimum to the maximum. If all values are equal, each bar has half the
 * maximum height; a null value is drawn as a space.
 */
export function sparkline(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const [minimum, maximum] = [Math.min(...known), Math.max(...known)];
  return values
    .map((value) => {
      if (value === null) return ' ';
      const height = maximum === minimum ? 0.5 : (value - minimum) / (maximum - minimum);
      return bars[Math.min(bars.length - 1, Math.floor(height * bars.length))] ?? ' ';
    })
    .join('');
}

export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(value, null, 2))}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`);
}

/** Prints a note to stderr, separately from the output. */
export function note(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

/** Formats a table like formatAligned; column `firstNumber` and all later columns contain numbers. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  firstNumber = head.length,
): string {
  return formatAligned(
    head,
    rows,
    head.map((_, index) => index >= firstNumber),
  );
}

const edges = ['top', 'bottom', 'left', 'right', 'mid'];
const noBorder = Object.fromEntries(
  edges.flatMap((edge) => [edge, ...edges.map((side) => `${edge}-${side}`)].map((name) => [name, ''])),
);

/** Formats a table without borders, for copying and `cut`. Each row is one line, and numbers are right-aligned. */
export function formatAligned(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  areNumbers: readonly boolean[],
): string {
  const table = new Table({
    head: [...head],
    colAligns: areNumbers.map((isNumber) => (isNumber ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    chars: { ...noBorder, middle: '  ' },
  });
  // A cell is one line, even if an id contains a line feed.
  table.push(...rows.map((row) => row.map((cell) => cellText(cell))));
  return table.toString().replaceAll(/ +$/gm, '');
}

function inOneLine(part: string): string {
  return visibleText(part).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

function cellText(cell: string): string {
  return mapTexts(cell, inOneLine, (code) => (code === '\x1b[' ? `${code}${seal};` : code));
}

export interface ConfiguredOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Creates a subcommand with `--config`, `--json` and an example in its help. */
export function configuredCommand(name: string, description: string, example: string) {
  return withConfig(new Command(name).description(description), example);
}

/** Adds the options `--config` and `--json` to a command, and an example to its help. */
export function withConfig(command: Command, example: string) {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml if it exists)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExample:\n  ${example}`);
}

/** Parses a maximum number of rows. @throws InvalidArgumentError */
export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('The value must be a whole number from 1 to 10000.');
}

/** @throws InvalidArgumentError */
export function parseTime(text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(`"${text}" is not a time; write it like 2026-11-20T15:45:00Z.`);
}
