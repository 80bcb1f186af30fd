/** Returns the bytes of a .npy file (format version 1.0) with float32 or float64 rows, as NumPy writes it. */
export function npyBytes(rows: readonly (readonly number[])[], type: '<f4' | '<f8' = '<f4'): Buffer {
  const columns = rows[0]?.length ?? 0;
  const dictionary = `{'descr': '${type}', 'fortran_order': False, 'shape': (${rows.length}, ${columns}), }`;
  const header = Buffer.from(`${dictionary.padEnd(117)}\n`);
  const data = type === '<f4' ? Float32Array.from(rows.flat()) : Float64Array.from(rows.flat());
  const preamble = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length, 0]);
  return Buffer.concat([preamble, header, Buffer.from(data.buffer)]);
}
