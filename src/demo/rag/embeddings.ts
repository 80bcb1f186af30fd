/** The part of OpenAI's embeddings API that clients of the demo use. */
import type { TextEmbedder } from './embedder.ts';

/** `POST /v1/embeddings`; further fields, such as `dimensions`, are accepted and change nothing. */
export interface EmbeddingsRequest {
  readonly model?: string;
  readonly input: string | readonly string[];
  readonly encoding_format?: 'float' | 'base64';
}

export const embeddingsBody = {
  type: 'object',
  required: ['input'],
  properties: {
    model: { type: 'string' },
    input: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', minItems: 1, maxItems: 2048, items: { type: 'string', minLength: 1 } },
      ],
    },
    encoding_format: { type: 'string', enum: ['float', 'base64'], default: 'float' },
  },
};

/** Vectors in the order of the texts; a text without a content word has the zero vector. */
export function answerEmbeddings(
  { model = 'hashed-tfidf', input, encoding_format: format }: EmbeddingsRequest,
  embedder: TextEmbedder,
) {
  const texts = typeof input === 'string' ? [input] : input;
  const data = texts.map((text, index) => {
    const vector = embedder.embed(text);
    return { object: 'embedding', index, embedding: format === 'base64' ? base64(vector) : [...vector] };
  });
  return { object: 'list', data, model, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

/** Little-endian float32, as OpenAI sends it. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.byteLength);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
