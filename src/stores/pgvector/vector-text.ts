/** Vectors as pgvector writes them: `[1,2.5,3]`. */

/** Nine significant digits name a float32 exactly. */
export function vectorText(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => Number(value.toPrecision(9))).join(',')}]`;
}

export function parseVector(text: string): Float32Array {
  return Float32Array.from(JSON.parse(text) as number[]);
}
