/**
 * Opens the messages of an OTLP body one by one, so that an unreadable message does not affect other messages. Reads
 * only the fields that recalld uses.
 */
import protobuf from 'protobufjs/light.js';
import { RecalldError } from '../../core/errors.ts';
import { JsonBeyondLimit, parseExactJson } from '../../core/text/json.ts';
import { faultText } from '../../platform/http/request-bodies.ts';
import {
  field,
  isObject,
  type LeaveOut,
  MessageReader,
  type ReadValue,
  readAttribute,
  readOrRefuse,
  tooManyFields,
  UnreadableMessage,
  valueOfJson,
} from './attribute-values.ts';
import { malformed, type OtlpContent, type OtlpLimits } from './parse.ts';

export interface OtlpMessages {
  readonly body: object;
  /** Opens a nested message; null if it is unreadable. */
  open(message: unknown, type: MessageName): object | null;
  /**
   * Returns the key and value of an attribute. Lists and maps are read lazily and may throw `UnreadableMessage` on
   * access; their unreadable elements are null.
   *
   * @throws UnreadableMessage
   */
  attribute(message: unknown, leaveOut: LeaveOut): readonly [key: string, value: ReadValue];
}

/**
 * @throws RecalldError if the bytes are not a message of this type or have too many fields. The methods of the returned
 *   object throw the same error once they have read too many fields.
 */
export function openMessages({ format, bytes }: OtlpContent, type: MessageName, limits: OtlpLimits): OtlpMessages {
  return format === 'protobuf' ? protobufMessages(bytes, type, limits) : jsonMessages(bytes, limits);
}

const BYTE_ORDER_MARK = '\ufeff';

/**
 * Maximum nesting depth of a JSON body; JSON.parse needs about 300 bytes per level. `OtlpLimits.maxDepth` is a stricter
 * limit for attribute values.
 */
const MAX_JSON_DEPTH = 50_000;

function jsonMessages(bytes: Uint8Array, limits: OtlpLimits): OtlpMessages {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  let body: unknown;
  try {
    body = parseExactJson(json, { depth: MAX_JSON_DEPTH, containers: limits.maxFields });
  } catch (cause) {
    if (!(cause instanceof JsonBeyondLimit))
      throw malformed(
        `The OTLP body has Content-Type application/json but is not JSON. ${faultText(json) ?? ''}`.trimEnd(),
        cause,
      );
    throw cause.code === 'too_deep' ? malformed('The OTLP body is nested too deeply.', cause) : tooManyFields();
  }
  if (!isObject(body)) throw malformed('The OTLP body is not a JSON object.');
  return {
    body,
    open: (message) => (isObject(message) ? message : null),
    attribute(pair, leaveOut) {
      const key = field(pair, 'key');
      if (typeof key !== 'string') throw UnreadableMessage.of('attribute_malformed');
      const value = field(pair, 'value');
      if (isObject(value) && ('arrayValue' in value || 'kvlistValue' in value))
        return [key, () => valueOfJson(value, limits.maxDepth, leaveOut)];
      return [key, valueOfJson(value, limits.maxDepth, leaveOut)];
    },
  };
}

function protobufMessages(bytes: Uint8Array, type: MessageName, limits: OtlpLimits): OtlpMessages {
  const reader = new MessageReader(bytes, limits.maxFields);
  const open = (message: unknown, name: MessageName): object | null => {
    if (!(message instanceof Uint8Array)) return null;
    try {
      return requests.lookupType(name).decode(reader.at(message));
    } catch (cause) {
      if (cause instanceof RecalldError) throw cause;
      return null;
    }
  };
  const body = open(bytes, type);
  if (body === null) throw malformed(`The OTLP body is not a protobuf ${type}.`);
  return {
    body,
    open,
    attribute(message, leaveOut) {
      if (!(message instanceof Uint8Array)) throw UnreadableMessage.of('attribute_malformed');
      return readOrRefuse(() => readAttribute(reader.at(message), limits.maxDepth, leaveOut));
    },
  };
}

// Field numbers of opentelemetry-proto v1 (collector, trace, logs, common and resource). Nested messages are declared
// as bytes, so that each can be opened separately.
const messages = (id: number) => ({ rule: 'repeated', type: 'bytes', id });
const message = (id: number) => ({ type: 'bytes', id });

const definitions = {
  ExportTraceServiceRequest: { fields: { resourceSpans: messages(1) } },
  ResourceSpans: { fields: { resource: message(1), scopeSpans: messages(2) } },
  ScopeSpans: { fields: { scope: message(1), spans: messages(2) } },
  Span: {
    fields: {
      traceId: { type: 'bytes', id: 1 },
      spanId: { type: 'bytes', id: 2 },
      traceState: { type: 'string', id: 3 },
      parentSpanId: { type: 'bytes', id: 4 },
      name: { type: 'string', id: 5 },
      startTimeUnixNano: { type: 'fixed64', id: 7 },
      endTimeUnixNano: { type: 'fixed64', id: 8 },
      attributes: messages(9),
      droppedAttributesCount: { type: 'uint32', id: 10 },
      events: messages(11),
      droppedEventsCount: { type: 'uint32', id: 12 },
      links: messages(13),
      status: message(15),
    },
  },
  Event: {
    fields: { timeUnixNano: { type: 'fixed64', id: 1 }, name: { type: 'string', id: 2 }, attributes: messages(3) },
  },
  Link: { fields: { traceId: { type: 'bytes', id: 1 }, spanId: { type: 'bytes', id: 2 } } },
  Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },

  ExportLogsServiceRequest: { fields: { resourceLogs: messages(1) } },
  ResourceLogs: { fields: { resource: message(1), scopeLogs: messages(2) } },
  ScopeLogs: { fields: { scope: message(1), logRecords: messages(2) } },
  LogRecord: {
    fields: {
      timeUnixNano: { type: 'fixed64', id: 1 },
      attributes: messages(6),
      traceId: { type: 'bytes', id: 9 },
      spanId: { type: 'bytes', id: 10 },
      observedTimeUnixNano: { type: 'fixed64', id: 11 },
      eventName: { type: 'string', id: 12 },
    },
  },

  Resource: { fields: { attributes: messages(1) } },
  Scope: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
};

export type MessageName = keyof typeof definitions;

const requests = protobuf.Root.fromJSON({ nested: definitions });
