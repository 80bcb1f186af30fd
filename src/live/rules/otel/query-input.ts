/** Reads the query of a retriever or embedding span: text, top k and vector. */
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

/** MLflow encodes the query as JSON, even if it is a string. */
const MLFLOW_INPUT = 'mlflow.spanInputs';

/**
 * Attributes that contain the query, or JSON with the query. `gen_ai.prompt` is from the LangSmith exporter, and
 * `db.vector.query.content` is from Spring AI. The attributes listed after the Langfuse attributes are from
 * OpenLLMetry.
 */
const inputs = [
  'gen_ai.retrieval.query.text',
  'gen_ai.memory.query.text',
  'gen_ai.tool.call.arguments',
  'input.value',
  'langfuse.observation.input',
  'gen_ai.task.input',
  'traceloop.entity.input',
  'gen_ai.prompt',
  MLFLOW_INPUT,
  'db.vector.query.content',
  'db.marqo.search.query',
  'db.chroma.query.query_texts',
  'ai.toolCall.args',
  'tool.parameters',
];

/**
 * Names of the field that contains the query in a JSON input. `query_str`, `query_bundle` and `str_or_query_bundle` are
 * from LlamaIndex.
 */
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
  'user_msg',
  'search_text',
  'q',
  'input',
  'inputs',
  'text',
  'prompt',
  'message',
];

/** Fields of a JSON input that contain the named arguments of a decorated function. */
const namedArguments = ['kwargs', 'arguments', 'params'];
/** Field of a JSON input that contains the positional arguments of a decorated function. */
const positionalArguments = 'args';

/** Maximum nesting depth of the query in an input. */
const MAX_LEVELS = 5;

/**
 * Returns the query text of a span, from the first attribute in `inputs` that contains a text. Returns null if there is
 * no such attribute, or if privacy settings hide the text.
 *
 * @param isCall as in `readInputText`; false for an embedding span, which has no query if it has several texts
 */
export function readQueryText({ attributes }: OtlpSpan, isCall = true): string | null {
  const read = (value: AttributeValue | undefined) => readInputText(value, isCall);
  return readText(jsonText(attributes[MLFLOW_INPUT])) ?? readFirst(attributes, inputs, read);
}

/** Returns the user's input to an agent, a workflow or a chain; null if it has no text or is hidden. */
export function readRequest(span: OtlpSpan): string | null {
  const conversation = readFirst(span.attributes, conversations, (value) => {
    const messages = readStructure(value);
    return isArray(messages) ? textOfMessages(messages) : null;
  });
  return conversation ?? readQueryText(span) ?? readInputText(span.attributes['ai.prompt'], false);
}

/** Attributes with the messages of an agent call: OTel GenAI, the AI SDK, Pydantic AI. */
const conversations = ['gen_ai.input.messages', 'ai.prompt.messages', 'pydantic_ai.all_messages'];

/** Decodes a JSON string; null for anything else. */
function jsonText(value: AttributeValue | undefined): string | null {
  const list = typeof value === 'string' && value.startsWith('"') ? readStructure(`[${value}]`) : null;
  return isArray(list) && list.length === 1 && typeof list[0] === 'string' ? list[0] : null;
}

/**
 * Reads the query from an input. An object without a query field is not a query. A JSON number or string is used
 * literally, because users search for numbers, such as a year, and for quoted phrases.
 *
 * @param isCall true if a list can represent the arguments of a call; the first text in the list is then the query
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

/** Printed form of a Python object, such as the `self` of a decorated method. */
const printedObject = /^<[^<>]* at 0x[0-9a-fA-F]+>$/;

/** `parts` is from OTel GenAI and the AI SDK. Serialized LangChain messages are in `kwargs`. */
function isMessage(value: AttributeValue): value is Attributes {
  const message = messageWithin(value);
  return isObject(message) && ('role' in message || 'type' in message) && ('content' in message || 'parts' in message);
}

function messageWithin(value: AttributeValue): AttributeValue {
  const inner = isObject(value) ? value['kwargs'] : undefined;
  return isObject(inner) && !('content' in (value as Attributes)) ? inner : value;
}

/** Returns the last text from the user. LangChain reports a list of conversations. */
function textOfMessages(messages: readonly AttributeValue[]): string | null {
  const [only] = messages;
  if (messages.every(isRolePair)) return readText(messages.findLast(([role]) => isUserRole(role))?.[1]);
  if (messages.length === 1 && isArray(only)) return textOfMessages(only);
  for (const message of messages.filter(isMessage).map(messageWithin).toReversed()) {
    // Some frameworks send tool results as user messages without a text.
    const text =
      isObject(message) && isUserRole(message['role'] ?? message['type'])
        ? textOfParts(message['content'] ?? message['parts'])
        : null;
    if (text !== null) return text;
  }
  return null;
}

/** Returns true for a LangChain message in its short form: `["user", "text"]`. */
function isRolePair(value: AttributeValue): value is readonly [string, string] {
  return isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
}

function isUserRole(role: AttributeValue | undefined): boolean {
  return /^(user|human)$/i.test(readText(role) ?? '');
}

/** Returns a text, or the joined text parts; images and files are ignored. */
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

/** `gen_ai.request.top_k` is the former name in OTel GenAI; the others are from OpenLLMetry and Spring AI. */
const topKNames = [
  'gen_ai.retrieval.top_k',
  'gen_ai.request.top_k',
  'db.vector.query.top_k',
  'pinecone.query.top_k',
  'db.chroma.query.n_results',
  'db.milvus.search.limit',
];
const topKArguments = ['top_k', 'k', 'limit', 'n_results', 'topK'];

/** Returns the number of requested documents; null if unknown. */
export function readTopK(span: OtlpSpan): number | null {
  const own = readFirst(span.attributes, topKNames, readCount);
  if (own !== null) return own;
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

/** Returns the query vector from the attributes or events of the span. */
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
