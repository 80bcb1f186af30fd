import { afterEach, describe, expect, it, vi } from 'vitest';
import { formatTable, note, printJson, printLine } from '../../../src/cli/output.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Captures what this process writes to a stream. */
function captured(stream: 'stdout' | 'stderr'): string[] {
  const written: string[] = [];
  vi.spyOn(process[stream], 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  return written;
}

describe('the output of a command', () => {
  it('as JSON is one document that ends with a line feed', () => {
    const stdout = captured('stdout');
    printJson({ a: [1, null], b: 'ü' });
    expect(stdout).toEqual(['{\n  "a": [\n    1,\n    null\n  ],\n  "b": "ü"\n}\n']);
  });

  it('goes to stdout if it is a result, and to stderr if it is a note', () => {
    const stdout = captured('stdout');
    const stderr = captured('stderr');
    printLine('the answer');
    note('by the way');
    expect(stdout).toEqual(['the answer\n']);
    expect(stderr).toEqual(['by the way\n']);
  });
});

describe('a table', () => {
  it('has no frame and no trailing spaces, and aligns words left and numbers right', () => {
    const rows = [
      ['ndcg@10', '0.8123', '40'],
      ['hit_rate@10', '1', '7'],
    ];
    expect(formatTable(['measure', 'mean', 'n'], rows, 1)).toBe(
      ['measure        mean   n', 'ndcg@10      0.8123  40', 'hit_rate@10       1   7'].join('\n'),
    );
  });

  it('aligns all columns left by default', () => {
    expect(
      formatTable(
        ['a', 'b'],
        [
          ['1', '22'],
          ['333', '4'],
        ],
      ),
    ).toBe(['a    b', '1    22', '333  4'].join('\n'));
  });

  it('leaves an empty cell blank, and shows only the header if there are no rows', () => {
    expect(formatTable(['a', 'b', 'c'], [['1', '', '3']])).toBe('a  b  c\n1     3');
    expect(formatTable(['a', 'b'], [])).toBe('a  b');
  });

  it('has no colors, so that other programs can parse the output', () => {
    const escape = String.fromCharCode(27);
    expect(formatTable(['a'], [['x']], 0)).not.toContain(escape);
  });
});
