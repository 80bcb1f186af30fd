/** What a retriever or embedding span tells of its query: the text, how many documents were asked for, the vector. */
import {
  type Attributes,
  type AttributeValue,
  isArray,
  isObject,
  type OtlpSpan,
  readCount,
  readFirst,
  readFlattened,
  readStructure,
  readText,
  readVector,
} from './span.ts';

/**
 * Their values are the query itself, or JSON with the query in it. `gen_ai.prompt` is LangSmith's exporter,
 * `db.vector.query.content` Spring AI; the rest behind Langfuse's is OpenLLMetry.
 */
const inputs = [
  'gen_ai.retrieval.query.text',
  'input.value',
  'langfuse.observation.input',
  'gen_ai.task.input',
  'traceloop.entity.input',
  'gen_ai.prompt',
  'db.vector.query.content',
  'db.marqo.search.query',
  'db.chroma.query.query_texts',
];

/** Names of the query in a JSON input; `query_str`, `query_bundle` and `str_or_query_bundle` are LlamaIndex. */
const queryNames = [
  'query',
  'query_str',
  'query_bundle',
  'str_or_query_bundle',
  'query_text',
  'queryText',
  'question',
  'search_query',
  'searchQuery',
  'user_query',
  'user_question',
  'user_input',
  'search_text',
  'q',
  'input',
  'inputs',
  'text',
  'prompt',
  'message',
];

/** Where a JSON input holds the arguments of a call: by name, and by position, as decorators of functions write them. */
const namedArguments = ['kwargs', 'arguments', 'params'];
const positionalArguments = 'args';

/** No input has its query deeper. */
const MAX_LEVELS = 5;

/**
 * The text of a retriever's query, from the first of `gen_ai.retrieval.query.text`, `input.value`,
 * `langfuse.observation.input` and the inputs of other conventions that has one. Null when none has, or when privacy
 * settings hide it.
 */
export function readQueryText(span: OtlpSpan): string | null {
  return readFirst(span.attributes, inputs, (value) => readInputText(value, true));
}

/** The one text of an embedding span; null also when it has several, whose vectors would be those of another. */
export function readEmbeddedText(span: OtlpSpan): string | null {
  return readFirst(span.attributes, inputs, (value) => readInputText(value, false));
}

/**
 * An object without a query by a usual name is not the query, and its JSON would not be either. A JSON number or
 * string is the query as it stands: people search for years, and for phrases in quotes.
 *
 * @param isCall whether a list may be the arguments of a call, of which the first text is the query
 */
function readInputText(value: AttributeValue | undefined, isCall: boolean): string | null {
  const input = readStructure(value);
  return input === null ? readText(value) : textWithin(input, isCall, MAX_LEVELS);
}

function textWithin(value: AttributeValue | undefined, isCall: boolean, levelsLeft: number): string | null {
  if (levelsLeft === 0) return null;
  if (isArray(value)) return textOfList(value, isCall, levelsLeft - 1);
  if (!isObject(value)) return typeof value === 'number' ? String(value) : readText(value);
  const inner = (one: AttributeValue | undefined) => textWithin(one, isCall, levelsLeft - 1);
  const named = readFirst(value, queryNames, inner);
  if (named !== null) return named;
  const messages = value['messages'];
  if (isArray(messages)) return textOfMessages(messages);
  const called = readFirst(value, namedArguments, (one) => (isObject(one) ? inner(one) : null));
  return called ?? (isArray(value[positionalArguments]) ? inner(value[positionalArguments]) : null);
}

function textOfList(values: readonly AttributeValue[], isCall: boolean, levelsLeft: number): string | null {
  if (values.length > 0 && values.every(isMessage)) return textOfMessages(values);
  if (values.length > 1 && !isCall) return null;
  for (const value of values) {
    const text = typeof value === 'number' ? null : textWithin(value, isCall, levelsLeft);
    if (text !== null) return text;
  }
  return null;
}

function isMessage(value: AttributeValue): value is Attributes {
  return isObject(value) && ('role' in value || 'type' in value) && 'content' in value;
}

/** What the user said last in a conversation. */
function textOfMessages(messages: readonly AttributeValue[]): string | null {
  const asked = messages.findLast(
    (message) => isMessage(message) && /^(user|human)$/i.test(readText(message['role'] ?? message['type']) ?? ''),
  );
  return isObject(asked) ? readText(asked['content']) : null;
}

/** `gen_ai.request.top_k` is what OTel GenAI called it before; the rest is OpenLLMetry and Spring AI. */
const topKNames = [
  'gen_ai.retrieval.top_k',
  'gen_ai.request.top_k',
  'db.vector.query.top_k',
  'pinecone.query.top_k',
  'db.chroma.query.n_results',
  'db.milvus.search.limit',
];
const topKArguments = ['top_k', 'k', 'limit', 'n_results', 'topK'];

/** How many documents were asked for; null when the span does not tell. */
export function readTopK(span: OtlpSpan): number | null {
  const told = readFirst(span.attributes, topKNames, readCount);
  if (told !== null) return told;
  return readFirst(span.attributes, inputs, (value) => {
    const input = readStructure(value);
    if (!isObject(input)) return null;
    const called = (one: AttributeValue | undefined) =>
      isObject(one) ? readFirst(one, topKArguments, readCount) : null;
    return readFirst(input, topKArguments, readCount) ?? readFirst(input, namedArguments, called);
  });
}

const vectorNames = ['embedding.vector', 'db.vector.query.embeddings.vector'];
const vectorEventNames = ['db.query.embeddings.vector', 'db.search.embeddings.vector'];

/** The vector of the query, when the retriever's own span or one of its events holds it. */
export function readQueryVector(span: OtlpSpan): Float32Array | null {
  const own = readFirst(span.attributes, vectorNames, readVector);
  if (own !== null) return own;
  for (const { attributes } of span.events) {
    const vector = readFirst(attributes, vectorEventNames, readVector);
    if (vector !== null) return vector;
  }
  const embedded = readFlattened(span.attributes, 'embedding.embeddings') ?? [];
  return embedded.length === 1 ? readVector(embedded[0]?.['embedding.vector']) : null;
}
