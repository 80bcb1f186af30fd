import { expect, it } from 'vitest';
import { printLabeled, wrapped } from '../../../src/demo/output.ts';

it('wraps text between words, but never within a word', () => {
  expect(wrapped('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrapped('http://127.0.0.1:8321/runs/1', 7)).toEqual(['http://127.0.0.1:8321/runs/1']);
});

it('prints a wrapped text beside its label', () => {
  const lines: string[] = [];
  const output = {
    print: (line: string) => void lines.push(line),
    progress: () => undefined,
    styled: (_emphasis: string, text: string) => text,
  };
  printLabeled(output, 'diagnosis', `${'word '.repeat(18)}end`);
  expect(lines).toEqual([`  diagnosis   ${'word '.repeat(17).trim()}`, '              word end']);
});
