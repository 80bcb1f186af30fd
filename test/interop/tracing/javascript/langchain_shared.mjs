import { ChatOpenAI } from '@langchain/openai';

export const model = () =>
  new ChatOpenAI({
    model: 'interop',
    temperature: 0,
    apiKey: 'none',
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  });

export const listed = (found) =>
  found.map(({ id, pageContent, metadata }) => ({ id, text: pageContent, score: metadata.score ?? null }));
