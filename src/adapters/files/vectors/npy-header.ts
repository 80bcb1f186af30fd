/** The header of NumPy's .npy format, versions 1.0, 2.0 and 3.0 (numpy.lib.format). */

/** What a supported file says of its data. */
export interface NpyHeader {
  readonly type: 'float32' | 'float64';
  readonly rows: number;
  readonly columns: number;
}

/** The first bytes of every .npy file; the format's version, two bytes, follows. */
export const NPY_MAGIC: Buffer = Buffer.from('\x93NUMPY', 'latin1');

/** Magic, version, and the longer of the two forms of the header's length. */
export const NPY_PREAMBLE_BYTES: number = NPY_MAGIC.length + 2 + 4;

const MOST_HEADER_BYTES = 1024 * 1024;

/**
 * Where the header's text lies, or what is wrong with the file. A problem completes `FILE ...`.
 *
 * @param preamble the first `NPY_PREAMBLE_BYTES` of the file, or all of a shorter one
 */
export function locateNpyHeader(
  preamble: Buffer,
): { readonly start: number; readonly end: number } | { readonly problem: string } {
  if (preamble.length < NPY_PREAMBLE_BYTES) return { problem: TRUNCATED };
  const major = preamble[NPY_MAGIC.length] ?? 0;
  if (major < 1 || major > 3) {
    return { problem: `has version ${major} of the .npy format; save it in version 1, 2 or 3` };
  }
  const lengthAt = NPY_MAGIC.length + 2;
  const length = major === 1 ? preamble.readUInt16LE(lengthAt) : preamble.readUInt32LE(lengthAt);
  if (length > MOST_HEADER_BYTES) {
    return { problem: 'has a header longer than 1 MiB; save the array again with numpy.save' };
  }
  const start = lengthAt + (major === 1 ? 2 : 4);
  return { start, end: start + length };
}

export const TRUNCATED = 'ends before its data do; copy or save it again';

/** The header from its text, a literal of a Python dictionary. A problem completes `FILE ...`. */
export function parseNpyHeader(text: string): NpyHeader | { readonly problem: string } {
  const descr = /['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|(\[))/.exec(text);
  const order = /['"]fortran_order['"]\s*:\s*(True|False)/.exec(text)?.[1];
  const shape = /['"]shape['"]\s*:\s*\(([\d\sL,]*)\)/.exec(text)?.[1];
  if (descr === null || order === undefined || shape === undefined) {
    return { problem: 'has a header that cannot be understood; save the array again with numpy.save' };
  }
  const type = TYPES[descr[1] ?? ''];
  if (type === undefined) {
    const found = descr[1] === undefined ? 'records' : `numbers of the type "${descr[1].slice(0, 20)}"`;
    return { problem: `holds ${found}; save it as little-endian float32 with array.astype("<f4")` };
  }
  const sizes = shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number.parseInt(size, 10)]));
  const [rows = 0, columns = 0] = sizes;
  if (sizes.length !== 2) {
    return {
      problem: `holds a ${sizes.length}-dimensional array; save one of 2 dimensions, with a row for each vector`,
    };
  }
  if (order === 'True') {
    return { problem: 'is in Fortran order; save it in C order with numpy.ascontiguousarray' };
  }
  return { type, rows, columns };
}

const TYPES: Readonly<Record<string, NpyHeader['type']>> = { '<f4': 'float32', '<f8': 'float64' };
