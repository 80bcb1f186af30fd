/**
 * Sends the recordings of tracing programs through a Collector to a daemon. RECALLD_TEST_COLLECTOR is the path of a
 * Collector with the components of the contrib distribution; without it, the tests are skipped. RECALLD_TEST_RECORD=1
 * also replaces the recording that `npm test` replays.
 */
import { describe } from 'vitest';
import { startReceiver } from '../tracing/record.ts';
import { type ExportRequest, readRecordings } from '../tracing/recording.ts';
import { otherSpans } from './other-spans.ts';
import { writeCollectorRecording } from './recording.ts';
import { startCollector } from './run-collector.ts';
import { describeCollector } from './suite.ts';

const recordings = readRecordings();
const binary = process.env['RECALLD_TEST_COLLECTOR'] ?? '';

/** Returns what a Collector exports for the recordings and for spans that recalld does not read. */
async function throughCollector(keepPercent: string): Promise<{ version: string; requests: ExportRequest[] }> {
  const receiver = await startReceiver();
  const collector = await startCollector(binary, { RECALLD_URL: receiver.url, RECALLD_KEEP_PERCENT: keepPercent });
  try {
    for (const [place, { requests }] of recordings.entries()) {
      for (const request of requests) await collector.send(request, place % 2 === 0 ? 'http' : 'grpc');
    }
    await collector.send(otherSpans, 'http');
  } finally {
    // When the Collector stops, it decides which of the waiting traces to keep, and exports these traces.
    await collector.stop();
    receiver.close();
  }
  return { version: collector.version, requests: receiver.requests };
}

describe.skipIf(binary === '')('an export through a Collector', () => {
  describeCollector(recordings, async () => {
    const { version, requests } = await throughCollector('100');
    const { requests: errorsOnly } = await throughCollector('0');
    const programs = recordings.map(({ requests: _requests, ...program }) => program);
    const recording = { date: new Date().toISOString().slice(0, 10), version, programs, requests, errorsOnly };
    if (process.env['RECALLD_TEST_RECORD'] === '1') writeCollectorRecording(recording);
    return recording;
  });
});
