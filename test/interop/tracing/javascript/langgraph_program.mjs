/** An agent on LangGraph.js. */
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { queries } from './corpus.mjs';
import { vectorStore } from './langchain_program.mjs';
import { listed, model } from './langchain_shared.mjs';
import { retrieved } from './recorder.mjs';

const asked = (content) => ({ messages: [{ role: 'user', content }] });

export async function run() {
  const retriever = (await vectorStore()).asRetriever(2);
  let name = 'agent, one retrieval';
  const search = tool(
    async ({ query }) => {
      const found = await retriever.invoke(query);
      retrieved(name, query, listed(found));
      return found.map(({ pageContent }) => pageContent).join('\n');
    },
    { name: 'search_docs', description: 'Searches the help pages.', schema: z.object({ query: z.string() }) },
  );
  const agent = createAgent({ model: model(), tools: [search] });
  await agent.invoke(asked(queries.agentOnce));
  name = 'agent';
  await agent.invoke(asked(queries.agent));
  name = 'agent, streaming';
  for await (const _ of await agent.stream(asked(queries.agent)));
}
