/** A RAG chain on LangChain.js with a vector store and a keyword retriever. */
import { MemoryVectorStore } from '@langchain/classic/vectorstores/memory';
import { Document } from '@langchain/core/documents';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { BaseRetriever } from '@langchain/core/retrievers';
import { RunnableLambda, RunnablePassthrough, RunnableSequence } from '@langchain/core/runnables';
import { documents, embed, keywordSearch, queries, SearchTimeout } from './corpus.mjs';
import { listed, model } from './langchain_shared.mjs';
import { retrieved } from './recorder.mjs';

class KeywordRetriever extends BaseRetriever {
  lc_namespace = ['interop'];

  async _getRelevantDocuments(query) {
    return keywordSearch(query, 3).map(
      ({ id, text, score }) => new Document({ id, pageContent: text, metadata: { score } }),
    );
  }
}

export async function vectorStore() {
  const store = new MemoryVectorStore({
    embedQuery: async (text) => embed(text),
    embedDocuments: async (texts) => texts.map(embed),
  });
  await store.addDocuments([...documents].map(([id, pageContent]) => new Document({ id, pageContent })));
  return store;
}

export async function run() {
  const vectors = (await vectorStore()).asRetriever(3);
  const keywords = new KeywordRetriever();
  const seen = [];
  const chainOf = (retriever) => {
    const join = new RunnableLambda({
      func: (found) => {
        seen.push(found);
        return found.map(({ pageContent }) => pageContent).join('\n');
      },
    });
    const prompt = ChatPromptTemplate.fromTemplate('Answer from this context:\n{context}\n\nQuestion: {question}');
    const input = { context: retriever.pipe(join), question: new RunnablePassthrough() };
    return RunnableSequence.from([input, prompt, model(), new StringOutputParser()]);
  };
  const ask = (retriever, question) => chainOf(retriever).invoke(question);

  await ask(vectors, queries.single);
  retrieved('one retrieval', queries.single, listed(seen.pop()));

  try {
    await ask(keywords, queries.failed);
  } catch (error) {
    if (!(error instanceof SearchTimeout)) throw error;
    retrieved('error', queries.failed, [], 'SearchTimeout');
  }

  retrieved('empty answer', queries.empty, listed(await keywords.invoke(queries.empty)));

  for await (const _ of await chainOf(vectors).stream(queries.streamed));
  retrieved('streaming', queries.streamed, listed(seen.pop()));
}
