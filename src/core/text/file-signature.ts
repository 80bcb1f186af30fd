/** Recognizes a binary file by its first bytes if a text file was expected. */

const UTF_16 = 'is UTF-16; save the file as UTF-8';

/** File signatures in Latin-1, with one character per byte. */
const signatures: readonly (readonly [bytes: string, problem: string])[] = [
  ['\x1f\x8b', 'is compressed with gzip; unpack it'],
  ['\x28\xb5\x2f\xfd', 'is compressed with zstd; unpack it'],
  ['BZh', 'is compressed with bzip2; unpack it'],
  ['\xfd7zXZ', 'is compressed with xz; unpack it'],
  ['PK\x03\x04', 'is a ZIP archive, like .xlsx, .ods, .npz and .pt files; unpack it, or save a table as CSV in UTF-8'],
  ['\xd0\xcf\x11\xe0', 'is a workbook from an old Excel version; save the table as CSV in UTF-8'],
  ['PAR1', 'is Parquet; write the table as CSV or JSON lines'],
  ['ARROW1', 'is Arrow; write the table as CSV or JSON lines'],
  ['\x89HDF', 'is HDF5; write vectors with numpy.save, and tables as CSV or JSON lines'],
  ['SQLite format 3\0', 'is a SQLite database; write the table as CSV or JSON lines'],
  ['\xff\xfe', UTF_16],
  ['\xfe\xff', UTF_16],
];

const LFS_POINTER = 'version https://git-lfs.github.com/spec/';

/** Number of bytes needed to recognize a file. */
export const SIGNATURE_BYTES = 64;

/**
 * Examines the first bytes of a file. Returns null for UTF-8 text, and otherwise a phrase that follows the file name in
 * an error message: what is wrong, and how to fix it. UTF-16 without a byte order mark has a NUL in every other byte.
 */
export function signatureProblem(first: Uint8Array): string | null {
  const begin = Buffer.from(first.subarray(0, SIGNATURE_BYTES)).toString('latin1');
  if (begin.startsWith(LFS_POINTER)) return 'is a Git LFS pointer instead of the file; run git lfs pull';
  // A signature that consists only of letters can also be the start of an id.
  const isText = !/(?![\t-\r])\p{Cc}/u.test(begin);
  const known = signatures.find(([bytes]) => begin.startsWith(bytes) && !(isText && /^[ -~]+$/.test(bytes)));
  if (known !== undefined) return known[1];
  return /^(?:[^\0]\0){4}|^(?:\0[^\0]){4}/.test(begin) ? UTF_16 : null;
}
