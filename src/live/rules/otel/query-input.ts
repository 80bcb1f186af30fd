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

/** Where MLflow puts the query, always as JSON, a text too. */
const MLFLOW_INPUT = 'mlflow.spanInputs';

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
  MLFLOW_INPUT,
  'db.vector.query.content',
  'db.marqo.search.query',
  'db.chroma.query.query_texts',
];

/** Names of the query in a JSON input; `query_str`, `query_bundle` and `str_or_query_bundle` are LlamaIndex. */
const queryNames = [
  'query',
  'query_str',
  'query_bundle',
  'query_or_queries',
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
  return readText(jsonText(span.attributes[MLFLOW_INPUT])) ?? readInput(span, true);
}

/** The one text of an embedding span; null also when it has several, whose vectors would be those of another. */
export function readEmbeddedText(span: OtlpSpan): string | null {
  return readText(jsonText(span.attributes[MLFLOW_INPUT])) ?? readInput(span, false);
}

function readInput(span: OtlpSpan, isCall: boolean): string | null {
  return readFirst(span.attributes, inputs, (value) => readInputText(value, isCall));
}

/** The text that is written as JSON; null for anything else. */
function jsonText(value: AttributeValue | undefined): string | null {
  const list = typeof value === 'string' && value.startsWith('"') ? readStructure(`[${value}]`) : null;
  return isArray(list) && list.length === 1 && typeof list[0] === 'string' ? list[0] : null;
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
    const isText = typeof value !== 'number' && !(typeof value === 'string' && printedObject.test(value));
    const text = isText ? textWithin(value, isCall, levelsLeft) : null;
    if (text !== null) return text;
  }
  return null;
}

/** What Python prints of an object, such as the `self` of a method that a decorator wraps. */
const printedObject = /^<[^<>]* at 0x[0-9a-fA-F]+>$/;

/** `parts` are OTel GenAI and the AI SDK; LangChain's serialised form keeps the message in `kwargs`. */
function isMessage(value: AttributeValue): value is Attributes {
  const message = messageWithin(value);
  return isObject(message) && ('role' in message || 'type' in message) && ('content' in message || 'parts' in message);
}

function messageWithin(value: AttributeValue): AttributeValue {
  const inner = isObject(value) ? value['kwargs'] : undefined;
  return isObject(inner) && !('content' in (value as Attributes)) ? inner : value;
}

/** What the user said last in a conversation; LangChain has a list of conversations. */
function textOfMessages(messages: readonly AttributeValue[]): string | null {
  const [only] = messages;
  if (messages.length === 1 && isArray(only)) return textOfMessages(only);
  const asked = messages
    .filter(isMessage)
    .map(messageWithin)
    .findLast((message) => isObject(message) && isOfUser(message));
  return isObject(asked) ? (textOfParts(asked['content']) ?? textOfParts(asked['parts'])) : null;
}

function isOfUser(message: Attributes): boolean {
  return /^(user|human)$/i.test(readText(message['role'] ?? message['type']) ?? '');
}

/** A text, or those of the parts that are texts; pictures and files say nothing that can be compared. */
function textOfParts(content: AttributeValue | undefined): string | null {
  if (!isArray(content)) return readText(content);
  const texts = content.flatMap((part) =>
    isObject(part) && (part['type'] ?? 'text') === 'text'
      ? (readText(part['text']) ?? readText(part['content']) ?? [])
      : typeof part === 'string'
        ? [part]
        : [],
  );
  return readText(texts.join('\n'));
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
