/** Arguments that the client's types do not allow, but that JavaScript callers may pass. */
import * as fc from 'fast-check';

const throwing = {
  get results(): never {
    throw new Error('a getter of the host');
  },
  get queryId(): never {
    throw new Error('a getter of the host');
  },
};

const hostileProxy = new Proxy(
  {},
  {
    get: () => {
      throw new Error('a trap of the host');
    },
    has: () => {
      throw new Error('a trap of the host');
    },
    ownKeys: () => {
      throw new Error('a trap of the host');
    },
    getPrototypeOf: () => {
      throw new Error('a trap of the host');
    },
  },
);

const cyclic: Record<string, unknown> = { kind: 'thumb' };
cyclic['results'] = [cyclic];
cyclic['segments'] = cyclic;

const oddValues: readonly unknown[] = [
  null,
  undefined,
  Symbol('junk'),
  10n,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  new Date(Number.NaN),
  () => undefined,
  throwing,
  hostileProxy,
  new Proxy([], { get: () => 4e9 }),
  Object.create(null),
  cyclic,
  Array.from({ length: 100_000 }),
  new Float32Array(0),
  new Uint8Array(8),
  [Number.NaN],
  [[1, 2]],
  'x'.repeat(200_000),
  '\ud800',
  new Map(),
  new Error('of the host', { cause: hostileProxy }),
];

const fields = [
  'id',
  'pipeline',
  'occurredAt',
  'text',
  'embedding',
  'topK',
  'sessionId',
  'traceId',
  'episode',
  'results',
  'latencyMs',
  'error',
  'segments',
  'userId',
  'versions',
  'sampling',
  'queryId',
  'kind',
  'value',
  'documentId',
  'rank',
  'comment',
  'url',
  'apiKey',
  'maxQueue',
  'maxQueueBytes',
  'batchSize',
  'flushIntervalMs',
  'timeoutMs',
  'sampleRate',
  'onDrop',
];

const value = fc.oneof(
  { weight: 2, arbitrary: fc.nat({ max: oddValues.length - 1 }).map((i) => () => oddValues[i]) },
  {
    weight: 1,
    arbitrary: fc.anything({ withBigInt: true, withDate: true, withTypedArray: true }).map((any) => () => any),
  },
);

const record = fc
  .array(fc.tuple(fc.constantFrom(...fields), value), { maxLength: 8 })
  .map((entries) => (): unknown => Object.fromEntries(entries.map(([name, make]) => [name, make()])));

/**
 * Creates unusual values, alone or in fields that the client reads. The property itself creates the values, because
 * fast-check inspects generated values, and some of these values cannot be inspected.
 */
export const junk: fc.Arbitrary<() => unknown> = fc.oneof(value, record);
