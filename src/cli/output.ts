/**
 * How commands answer: one JSON document, or tables, colours and small charts for people; plain text off a terminal;
 * and what their options have in common.
 */
import { randomInt } from 'node:crypto';
import { styleText } from 'node:util';
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { visibleJson, visibleText } from '../core/text/visible-text.ts';

type Format = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

/**
 * Stands in the colours of this process until they are written, so that no text of a service, a file or a user can bring
 * colours of its own: everything else that a terminal obeys is written as its escape.
 */
const seal = randomInt(10_000, 100_000);
const sealed = new RegExp(`(\\x1b\\[)${seal};(\\d+m)`);

/** Styled on a terminal alone; NO_COLOR, FORCE_COLOR and the like are honoured (https://no-color.org). */
export function styled(format: Format, text: string): string {
  const plain = styleText(format, '\n', { stream: process.stdout, validateStream: true });
  const [open = '', close = ''] = plain.split('\n').map((code) => code.replaceAll('\x1b[', `\x1b[${seal};`));
  return `${open}${text}${close}`;
}

/** What a terminal may be sent of a text: its own colours, and the rest visible. */
function forTerminal(text: string): string {
  // Splitting at a pattern with two groups gives texts at every third place, and their colours between them.
  return text
    .split(sealed)
    .map((part, at) => (at % 3 === 0 ? visibleText(part) : part))
    .join('');
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

/** A verdict in its colour; others as they are. */
export function verdictText(verdict: string): string {
  const format = formatOf[verdict];
  return format === undefined ? verdict : styled(format, verdict);
}

const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** One bar for each value, between the least and the largest; equal values are in the middle. A gap is a space. */
export function sparkline(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  return values
    .map((value) => {
      if (value === null) return ' ';
      const height = largest === least ? 0.5 : (value - least) / (largest - least);
      return bars[Math.min(bars.length - 1, Math.floor(height * bars.length))] ?? ' ';
    })
    .join('');
}

/** Prints exactly one JSON document on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(value, null, 2))}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`);
}

/** A note that is no part of the answer. */
export function note(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

/** A table as formatAligned makes it; columns from `firstNumber` on are numbers. */
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

/** A table without frames, so that it can be copied and cut; a row is one line, and numbers are right-aligned. */
export function formatAligned(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  areNumbers: readonly boolean[],
): string {
  const gap = '  ';
  const none = '';
  const table = new Table({
    head: [...head],
    colAligns: areNumbers.map((isNumber) => (isNumber ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    chars: {
      top: none,
      'top-mid': none,
      'top-left': none,
      'top-right': none,
      bottom: none,
      'bottom-mid': none,
      'bottom-left': none,
      'bottom-right': none,
      left: none,
      'left-mid': none,
      mid: none,
      'mid-mid': none,
      right: none,
      'right-mid': none,
      middle: gap,
    },
  });
  // A cell is one line, also where an id holds a line feed.
  table.push(...rows.map((row) => row.map((cell) => cellText(cell))));
  return table.toString().replaceAll(/ +$/gm, '');
}

function cellText(cell: string): string {
  return cell
    .split(sealed)
    .map((part, at) => {
      if (at % 3 === 0) return visibleText(part).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
      return at % 3 === 1 ? `${part}${seal};` : part;
    })
    .join('');
}

/** Options of every command that works on a config. */
export interface ConfiguredOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** A command of a group, with `--config`, `--json` and an example in its help. */
export function configuredCommand(name: string, description: string, example: string): Command {
  return withConfig(new Command(name).description(description), example);
}

/** Adds `--config`, `--json` and an example to the help of a command. */
export function withConfig(command: Command, example: string): Command {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml when there is one)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExample:\n  ${example}`);
}

/** How many rows a command shall list. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
}

/** @throws InvalidArgumentError */
export function parseTime(text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(`"${text}" is no time; write it like 2026-11-20T15:45:00Z.`);
}
