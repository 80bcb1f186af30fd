// A Node.js program that recalld calls as a retriever: it reads one JSON line per query and writes one per answer.
//
//   retriever: {kind: command, command: [node, examples/command-retriever.mjs, corpus.jsonl]}
//
// The corpus has one JSON object with `_id` and `text` per line. Replace `search` with your own search. Write only
// answers to standard output, and messages to standard error.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';

const wordsOf = (text) => text.toLowerCase().match(/\p{L}+|\p{N}+/gu) ?? [];

const corpus = readFileSync(process.argv[2] ?? 'corpus.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map(({ _id, text }) => ({ id: _id, text, words: new Set(wordsOf(text)) }));

/** Returns the k documents that share the most words with the query, best first. */
async function search(text, k) {
  const words = new Set(wordsOf(text));
  return corpus
    .map((document) => ({
      id: document.id,
      score: [...words].filter((word) => document.words.has(word)).length,
      text: document.text, // needed only by a reranker
    }))
    .filter((document) => document.score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, k);
}

async function answer(line) {
  const { id, text, k } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ id, documents: await search(text, k) }));
  } catch (error) {
    // Never include query text in the message.
    console.log(JSON.stringify({ id, error: { code: 'search_failed', message: error.name } }));
  }
}

// recalld may send a query before the previous one is answered. Answers may be in any order: each has its request's id.
createInterface({ input: process.stdin }).on('line', (line) => void answer(line));
