/** How commands answer: one JSON document, or a table for people. */
import Table from 'cli-table3';

/** Prints exactly one JSON document on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A note that is no part of the answer. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A table without frames, so that it can be copied and cut. Columns from `firstNumber` on are right-aligned. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  firstNumber = head.length,
): string {
  const gap = '  ';
  const none = '';
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, index) => (index >= firstNumber ? 'right' : 'left')),
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
  table.push(...rows.map((row) => [...row]));
  return table.toString().replaceAll(/ +$/gm, '');
}
