/**
 * Tests that the objects that Helm rendered from the chart match the program, and that the schema validates the
 * values of the chart.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { metricCatalogue } from '../../../src/platform/metrics/catalogue.ts';
import { chartDigest, keyOf, readChartRecording } from '../../interop/tools/chart/recording.ts';
import { describeChart } from '../../interop/tools/chart/suite.ts';
import { cases, chartFolder, defaults, readChart, refused } from '../../interop/tools/chart/values.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const recordAgain =
  'RECALLD_TEST_RECORD=1 npx vitest run --project interop test/interop/tools/chart renders the chart again';
const recording = readChartRecording();

it('the recorded objects were rendered from the current chart', () => {
  expect(recording.chart, recordAgain).toBe(chartDigest());
});

describe(`rendered on ${recording.date} by Helm ${recording.version},`, () => {
  describeChart((values) => {
    const objects = recording.objects[keyOf(values)];
    if (objects === undefined) throw new Error(recordAgain);
    return objects;
  }, recording.chartVersion);
});

it('the chart has the version of the package', () => {
  const packageJson = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const { version, appVersion } = parse(readChart('Chart.yaml')) as Record<string, string>;
  expect([version, appVersion]).toEqual([packageJson.version, packageJson.version]);
});

describe('the chart values', () => {
  const schema = z.fromJSONSchema(JSON.parse(readChart('values.schema.json')) as never);

  it.each(cases)('are accepted %s', (_, values) => {
    expect(schema.safeParse(values).error).toBeUndefined();
  });

  it.each(refused)('are rejected with %s', (_, values) => {
    expect(schema.safeParse(values).success).toBe(false);
  });

  it('are exactly those that the templates use', () => {
    const templates = readdirSync(path.join(chartFolder, 'templates'));
    const text = templates.map((name) => readChart(`templates/${name}`)).join('\n');
    const used = new Set([...text.matchAll(/\.Values\.(\w+)/g)].map(([, key]) => key));
    expect(used).toEqual(new Set(Object.keys(defaults)));
  });

  it('scale workers by a metric that deploy/README.md derives from a metric of recalld', () => {
    const readme = readFileSync(path.join(root, 'deploy/README.md'), 'utf8');
    expect(readme).toContain(`as: ${defaults['roles'].worker.autoscaling.metric}`);
    expect(Object.keys(metricCatalogue)).toContain('recalld_queue_jobs');
  });
});

describe('the systemd unit', () => {
  const unit = (name: string): string => readFileSync(path.join(root, 'deploy/systemd', name), 'utf8');

  it.each(['recalld.service', 'recalld@.service'])(
    '%s waits longer than a shutdown takes, and does not restart after an invalid config',
    (name) => {
      const { server } = parseConfig('{}', 'recalld.yaml', {}, () => '');
      const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit(name))?.[1]);
      expect(seconds).toBeGreaterThan(server.shutdown_seconds);
      expect(unit(name)).toMatch(/^KillSignal=SIGTERM$/m);
      expect(unit(name)).toMatch(/^RestartPreventExitStatus=2$/m);
      expect(unit(name)).toMatch(
        /^ExecStart=\/usr\/bin\/recalld serve --config \/etc\/recalld\/recalld\.yaml( --roles %i)?$/m,
      );
    },
  );
});
