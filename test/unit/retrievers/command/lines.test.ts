import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineCutter } from '../../../../src/retrievers/command-program.ts';

function cut(chunks: readonly Buffer[], maxBytes = 1000): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const take = createLineCutter(
    maxBytes,
    (line) => lines.push(line),
    () => {
      tooLong += 1;
    },
  );
  for (const chunk of chunks) take(chunk);
  return { lines, tooLong };
}

/** The bytes in chunks that end anywhere, also within a character. */
function chunksOf(text: string, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('a stream of lines', () => {
  const aLine = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .map((text) => JSON.stringify(text));
  const sizes = fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1 });

  it('comes out line by line, however it was cut on the way', () => {
    fc.assert(
      fc.property(fc.array(aLine), sizes, fc.constantFrom('\n', '\r\n', '\n\n'), (lines, sizes, end) => {
        const text = lines.map((line) => line + end).join('');
        expect(cut(chunksOf(text, sizes))).toEqual({ lines, tooLong: 0 });
      }),
    );
  });

  it('keeps an unfinished line back', () => {
    expect(cut([Buffer.from('one\ntw')]).lines).toEqual(['one']);
    expect(cut([Buffer.from('one\ntw'), Buffer.from('o\n')]).lines).toEqual(['one', 'two']);
  });

  it('ends for good when a line grows too long, said once', () => {
    const chunks = ['short\n', '123456', '789012', '\nshort again\n'].map((text) => Buffer.from(text));
    expect(cut(chunks, 10)).toEqual({ lines: ['short'], tooLong: 1 });
    expect(cut([Buffer.from('1234567890\n')], 10)).toEqual({ lines: ['1234567890'], tooLong: 0 });
  });
});
