/** Exports of tracing programs, as forwarded by a Collector with the config in deploy/otel-collector. */
import { describe } from 'vitest';
import { readCollectorRecording } from '../interop/collector/recording.ts';
import { describeCollector } from '../interop/collector/suite.ts';

const recording = readCollectorRecording();

describe(`an export recorded from Collector ${recording.version}`, () => {
  describeCollector(recording.programs, async () => recording);
});
