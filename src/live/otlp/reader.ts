/** Reads OTLP requests: small ones at once, large ones in a thread. */
import { createBytesInHand, createThreadPool, movable } from '../../threads/thread-pool.ts';
import { eachUnpacked } from '../parts.ts';
import {
  type Found,
  inParts,
  type LogsRead,
  type Packed,
  readLogs,
  readTraces,
  type TracedPipeline,
  type TracesRead,
  type tasks,
} from './extraction.ts';
import { contentOf, type OtlpContent } from './parse.ts';

/** What was counted, and what was found, to be taken in part by part. A part is unpacked when it is asked for. */
type InParts<Read> = Omit<Read, keyof Found> & { readonly parts: Iterable<Found> };

interface OtlpReader {
  /**
   * @throws RecalldError as `contentOf` and `decodeTraces`; overloaded when too many large bodies wait
   */
  traces(...request: OtlpRequest): Promise<InParts<TracesRead>>;
  /** @throws RecalldError as `traces` */
  logs(...request: OtlpRequest): Promise<InParts<LogsRead>>;
  close(): Promise<void>;
}

/** The body without its compression, which may be moved to the thread, and its header `Content-Type`. */
export type OtlpRequest = readonly [body: Uint8Array, contentType: string | undefined];

/** A larger one is read in the thread: the costliest so large take 16 ms. */
const SMALL_BYTES = 64 * 1024;

/** Of large bodies in hand: the last of them waits for some seconds. */
const MAX_BYTES = 48 * 1024 * 1024;

const REFUSAL = 'More large OpenTelemetry bodies wait than can be read; send this one again later.';

/** Of work that goes on although its caller has gone: what was sent shall be kept. */
const never = new AbortController().signal;

/** The thread starts with the first large body. */
export function createOtlpReader(pipelines: readonly TracedPipeline[]): OtlpReader {
  const pool = createThreadPool<typeof tasks>({
    folder: import.meta.dirname,
    threads: 1,
    // Their bytes are what is bounded.
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: REFUSAL,
  });
  const holding = createBytesInHand(MAX_BYTES, REFUSAL);
  const inThread = <Name extends keyof typeof tasks>(name: Name, content: OtlpContent) =>
    holding(content.bytes.length, () => pool.run(name, { content, pipelines }, never, movable(content.bytes)));
  return {
    async traces(...request) {
      const content = contentOf(...request);
      if (content.bytes.length > SMALL_BYTES) return unpacked(await inThread('traces', content));
      const { queries, fragments, feedback, ...counts } = readTraces(content, pipelines);
      return { ...counts, parts: inParts({ queries, fragments, feedback }) };
    },
    async logs(...request) {
      const content = contentOf(...request);
      if (content.bytes.length > SMALL_BYTES) return unpacked(await inThread('logs', content));
      const { feedback, ...counts } = readLogs(content, pipelines);
      return { ...counts, parts: inParts({ queries: [], fragments: [], feedback }) };
    },
    close: () => pool.close(),
  };
}

function unpacked<Read>({ parts, ...counts }: Packed<Read>) {
  return { ...counts, parts: eachUnpacked<Found>(parts) };
}
