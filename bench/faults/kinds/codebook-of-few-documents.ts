import { bySize, type FaultKind, some } from '../fault.ts';
import { createSearch } from '../search.ts';

function distance(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += ((one[at] ?? 0) - (other[at] ?? 0)) ** 2;
  return sum;
}

function partsOf(vector: Float32Array, length: number): Float32Array[] {
  return Array.from({ length: Math.ceil(vector.length / length) }, (_, at) =>
    vector.subarray(at * length, (at + 1) * length),
  );
}

export const kind: FaultKind = {
  name: 'codebook-of-few-documents',
  title: 'the index compresses vectors with a codebook that was trained on the first few documents',
  causes: ['index_parameters'],
  // With 46 documents, the codebook would hold most of them.
  fits: ({ shape }) => shape.retriever !== 'lexical' && shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    // A reranker corrects the order if the index finds the relevant document at all.
    const isReranked = material.shape.retriever === 'dense-rerank';
    const trained = isReranked ? bySize(size, 14, 6, 3) : bySize(size, 64, 36, 8);
    /** Number of dimensions that one code stands for. */
    const length = bySize(size, isReranked ? 8 : 4, 8, 16);
    // There are fewer training documents than codes, so each training document becomes a code.
    const codebook = some(material.rows, trained / material.rows.length, random).map(({ vector }) =>
      partsOf(vector, length),
    );
    const compressed = (vector: Float32Array): Float32Array => {
      const parts = partsOf(vector, length).map((part, at) => {
        let nearest = { code: part, distance: Infinity };
        for (const document of codebook) {
          const code = document[at] ?? part;
          const now = distance(part, code);
          if (now < nearest.distance) nearest = { code, distance: now };
        }
        return nearest.code;
      });
      return Float32Array.from(parts.flatMap((part) => [...part]));
    };
    const rows = material.rows.map((row) => ({ ...row, vector: compressed(row.vector) }));
    // The store keeps the whole vectors; only the index uses the codes.
    const searchCodes = createSearch(material.shape, rows, material.embed);
    return { search: () => searchCodes };
  },
};
