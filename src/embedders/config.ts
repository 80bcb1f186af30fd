/** `pipelines[].embedder`: what turns the text of a query into a vector. */
import { z } from 'zod';
import { httpServiceShape, keySchema } from '../config/connection.ts';

const { url: _url, ...service } = httpServiceShape;

const base = z.string().min(1).meta({ secret: 'url' });

const batch = z.int().min(1).max(2048).default(64).describe('Most texts in one request.');

const openai = z.strictObject({
  kind: z.literal('openai').describe('OpenAI, Azure, vLLM, TEI, Ollama and all that speak as OpenAI.'),
  base_url: base.describe('Where the API is, up to `/v1`.'),
  ...service,
  api_key: keySchema,
  model: z.string().min(1).describe('Name of the model.'),
  dimensions: z.int().min(1).optional().describe('Length of the vectors, where the model offers a choice.'),
  batch_size: batch,
});

const tei = z.strictObject({
  kind: z.literal('tei').describe('Text Embeddings Inference, by its own API.'),
  base_url: base.describe('Where the service is.'),
  ...service,
  api_key: keySchema,
  prompt_name: z.string().min(1).optional().describe('Prompt of the model to put before a query.'),
  batch_size: batch.default(32),
});

export const embedderSchema = z.discriminatedUnion('kind', [openai, tei]);

export type EmbedderConfig = z.infer<typeof embedderSchema>;
