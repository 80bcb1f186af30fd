/** A query engine on LlamaIndex.TS with a vector index and a keyword retriever. */
import { OpenAI } from '@llamaindex/openai';
import { BaseEmbedding, BaseRetriever, RetrieverQueryEngine, Settings, TextNode, VectorStoreIndex } from 'llamaindex';
import { documents, embed, keywordSearch, queries, SearchTimeout } from './corpus.mjs';
import { retrieved } from './recorder.mjs';

class HashedWords extends BaseEmbedding {
  getTextEmbedding = async (text) => embed(text);
}

class KeywordRetriever extends BaseRetriever {
  async _retrieve({ query }) {
    return keywordSearch(query, 3).map(({ id, text, score }) => ({ node: new TextNode({ id_: id, text }), score }));
  }
}

const listed = (found) => found.map(({ node, score }) => ({ id: node.id_, text: node.text, score }));

export async function run() {
  Settings.embedModel = new HashedWords();
  Settings.llm = new OpenAI({ model: 'interop', apiKey: 'none', baseURL: process.env.OPENAI_BASE_URL });
  const nodes = [...documents].map(([id_, text]) => new TextNode({ id_, text }));
  const vectors = (await VectorStoreIndex.init({ nodes })).asRetriever({ similarityTopK: 3 });
  const keywords = new KeywordRetriever();

  const answer = await new RetrieverQueryEngine(vectors).query({ query: queries.single });
  retrieved('one retrieval', queries.single, listed(answer.sourceNodes));

  try {
    await new RetrieverQueryEngine(keywords).query({ query: queries.failed });
  } catch (error) {
    if (!(error instanceof SearchTimeout)) throw error;
    retrieved('error', queries.failed, [], 'SearchTimeout');
  }

  const unanswered = await new RetrieverQueryEngine(keywords).query({ query: queries.empty });
  retrieved('empty answer', queries.empty, listed(unanswered.sourceNodes));

  const stream = await new RetrieverQueryEngine(vectors).query({ query: queries.streamed, stream: true });
  let streamed = [];
  for await (const { sourceNodes } of stream) streamed = sourceNodes;
  retrieved('streaming', queries.streamed, listed(streamed));
}
