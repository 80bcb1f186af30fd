import { describe, expect, it } from 'vitest';
import { dotProductModule, i32, wasmModule } from '../../../../src/math/vector/cosine-kernel.ts';

describe('the WebAssembly assembler', () => {
  it.each([
    [0, [0x41, 0x00]],
    [63, [0x41, 0x3f]],
    [64, [0x41, 0xc0, 0x00]],
    [-1, [0x41, 0x7f]],
    [-64, [0x41, 0x40]],
    [-65, [0x41, 0xbf, 0x7f]],
    [624_485, [0x41, 0xe5, 0x8e, 0x26]],
    [-123_456, [0x41, 0xc0, 0xbb, 0x78]],
  ])('encodes the constant %i as in the specification', (value, bytes) => {
    expect([i32.const(value)].flat(3)).toEqual(bytes);
  });

  it('writes a module of one empty function', () => {
    const bytes = wasmModule({ name: 'f', parameters: 1, integers: 0, vectors: 2, body: [] });
    expect(Buffer.from(bytes).toString('hex')).toBe(
      [
        '0061736d01000000',
        '01050160017f00',
        '020f0103656e76066d656d6f7279020001',
        '03020100',
        '07050101660000',
        '0a08010602007f027b0b',
      ].join(''),
    );
  });

  it('writes the module of dot products in less than 1 KiB', () => {
    expect(dotProductModule().length).toBeLessThan(1024);
  });
});
