/**
 * Lists of numbers as they are stored: float32 for the vectors of embedding models, float64 for what was computed. Both
 * are little-endian, as every machine that Node.js runs on today keeps them.
 */

export function bytesOfVector(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy, since the bytes of a row lie in a buffer of the driver at any offset. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

export function bytesOfNumbers(numbers: Float64Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** A copy, likewise. */
export function numbersOfBytes(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}
