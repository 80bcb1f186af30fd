/** Recordings of vector stores: the HTTP requests of the contract suite, and the responses of the real store. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import {
  type FaultServer,
  type ReceivedRequest,
  type Responder,
  startFaultServer,
} from '../../support/fault-server.ts';
import { forward } from '../../support/outage.ts';

export interface Exchange {
  /** Method and target. */
  readonly request: string;
  /** Body of the request; for a long body, its SHA-256. */
  readonly body: string;
  readonly status: number;
  readonly type: string;
  readonly answer: string;
}

export interface StoreRecording {
  /** Name in `realStores`. */
  readonly name: string;
  /** Day of the recording. */
  readonly date: string;
  /** Versions, keyed by product or package. */
  readonly versions: Readonly<Record<string, string>>;
  /** Number of tests of the contract suite that passed. */
  readonly tests: number;
  /** Requests with their responses; empty if the store does not use HTTP. */
  readonly exchanges: readonly Exchange[];
}

const folder = path.resolve(import.meta.dirname, '../../fixtures/interop/stores');
const ending = '.json.br';

/** Returns all recordings, ordered by name. */
export function readStoreRecordings(): readonly StoreRecording[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .toSorted()
    .map(
      (name) =>
        JSON.parse(brotliDecompressSync(readFileSync(path.join(folder, name))).toString('utf8')) as StoreRecording,
    );
}

export function writeStoreRecording(recording: StoreRecording): void {
  const text = Buffer.from(JSON.stringify(recording));
  const params = {
    // The largest window is used, because the same vectors occur in responses that are megabytes apart.
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  writeFileSync(path.join(folder, `${recording.name}${ending}`), brotliCompressSync(text, { params }));
}

/**
 * Names of test indexes contain the process id, which differs between recording and replay. In Weaviate, these names
 * start with R.
 */
const ownNames = `ecalld_test_${process.pid}_`;
const recordedNames = 'ecalld_test_0_';

const LONGEST_BODY = 2000;

function keyOf({ method, target, body }: Pick<ReceivedRequest, 'method' | 'target' | 'body'>) {
  const named = body.replaceAll(ownNames, recordedNames);
  const isLong = named.length > LONGEST_BODY;
  return {
    request: `${method} ${target.replaceAll(ownNames, recordedNames)}`,
    body: isLong ? `sha256:${createHash('sha256').update(named).digest('hex')}` : named,
  };
}

/** Forwards requests to the store at `url`, and adds each exchange to `exchanges`. */
export function startRecorder(url: string, exchanges: Exchange[]): Promise<FaultServer> {
  return startFaultServer(
    forward(url, (request, { status, type, bytes }) => {
      const answer = bytes.toString('utf8').replaceAll(ownNames, recordedNames);
      exchanges.push({ ...keyOf(request), status, type, answer });
    }),
  );
}

/**
 * Responds as the store did during the recording. Equal requests get the recorded responses in order. Further equal
 * requests get the last of these responses, because polling may need more requests now than during the recording.
 */
export function startPlayer(exchanges: readonly Exchange[]): Promise<FaultServer> {
  const answers = new Map<string, Exchange[]>();
  for (const exchange of exchanges) {
    const key = JSON.stringify([exchange.request, exchange.body]);
    const same = answers.get(key);
    if (same === undefined) answers.set(key, [exchange]);
    else same.push(exchange);
  }
  const respond: Responder = (request, response) => {
    const key = keyOf(request);
    const recorded = answers.get(JSON.stringify([key.request, key.body]));
    const next = recorded !== undefined && recorded.length > 1 ? recorded.shift() : recorded?.[0];
    if (next === undefined) {
      response.writeHead(501).end(`not recorded: ${key.request} ${key.body}; see CONTRIBUTING.md`);
      return;
    }
    response.writeHead(next.status, { 'content-type': next.type });
    response.end(next.answer.replaceAll(recordedNames, ownNames));
  };
  return startFaultServer(respond);
}
