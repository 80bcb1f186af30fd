/** OTLP messages (opentelemetry-proto v1), encoded in protobuf as exporters in other languages encode them. */
import protobuf, { type Type } from 'protobufjs/light.js';

const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id });

const root = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: { fields: { resourceSpans: repeated('ResourceSpans', 1) } },
    ResourceSpans: { fields: { resource: { type: 'Resource', id: 1 }, scopeSpans: repeated('ScopeSpans', 2) } },
    ScopeSpans: { fields: { scope: { type: 'Scope', id: 1 }, spans: repeated('Span', 2) } },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        traceState: { type: 'string', id: 3 },
        parentSpanId: { type: 'bytes', id: 4 },
        name: { type: 'string', id: 5 },
        kind: { type: 'int32', id: 6 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: repeated('KeyValue', 9),
        droppedAttributesCount: { type: 'uint32', id: 10 },
        events: repeated('Event', 11),
        droppedEventsCount: { type: 'uint32', id: 12 },
        links: repeated('Link', 13),
        status: { type: 'SpanStatus', id: 15 },
      },
    },
    Event: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        name: { type: 'string', id: 2 },
        attributes: repeated('KeyValue', 3),
      },
    },
    Link: { fields: { traceId: { type: 'bytes', id: 1 }, spanId: { type: 'bytes', id: 2 } } },
    SpanStatus: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },
    ExportLogsServiceRequest: { fields: { resourceLogs: repeated('ResourceLogs', 1) } },
    ResourceLogs: { fields: { resource: { type: 'Resource', id: 1 }, scopeLogs: repeated('ScopeLogs', 2) } },
    ScopeLogs: { fields: { scope: { type: 'Scope', id: 1 }, logRecords: repeated('LogRecord', 2) } },
    LogRecord: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        attributes: repeated('KeyValue', 6),
        traceId: { type: 'bytes', id: 9 },
        spanId: { type: 'bytes', id: 10 },
        observedTimeUnixNano: { type: 'fixed64', id: 11 },
        eventName: { type: 'string', id: 12 },
      },
    },
    Resource: { fields: { attributes: repeated('KeyValue', 1) } },
    Scope: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'AnyValue', id: 2 } } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'],
        },
      },
      fields: {
        stringValue: { type: 'string', id: 1 },
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
        arrayValue: { type: 'ArrayValue', id: 5 },
        kvlistValue: { type: 'KeyValueList', id: 6 },
        bytesValue: { type: 'bytes', id: 7 },
      },
    },
    ArrayValue: { fields: { values: repeated('AnyValue', 1) } },
    KeyValueList: { fields: { values: repeated('KeyValue', 1) } },
    ExportTraceServiceResponse: { fields: { partialSuccess: { type: 'TracePartialSuccess', id: 1 } } },
    TracePartialSuccess: {
      fields: { rejectedSpans: { type: 'int64', id: 1 }, errorMessage: { type: 'string', id: 2 } },
    },
    ExportLogsServiceResponse: { fields: { partialSuccess: { type: 'LogsPartialSuccess', id: 1 } } },
    LogsPartialSuccess: {
      fields: { rejectedLogRecords: { type: 'int64', id: 1 }, errorMessage: { type: 'string', id: 2 } },
    },
    RpcStatus: { fields: { code: { type: 'int32', id: 1 }, message: { type: 'string', id: 2 } } },
  },
});

/** Returns the message type with this name. */
export function messageType(name: string): Type {
  return root.lookupType(name);
}
