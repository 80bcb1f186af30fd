import { expect, it } from 'vitest';
import { defaultRuleSettings, ruleGroups } from '../../../src/app/alerts/rule-file.ts';
import { configSchema } from '../../../src/app/config/schema.ts';
import { showIngestCounters } from '../../../src/app/http-surface.ts';
import { showJobCounters } from '../../../src/app/workers.ts';
import { createExporter } from '../../../src/platform/metrics/prometheus.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const config = configSchema.parse({
  notify: [{ kind: 'slack', url: 'https://hooks.example.org/recalld' }],
  pipelines: [
    {
      name: 'docs',
      retriever: { kind: 'http', url: 'http://127.0.0.1:1/search', results: { list: 'r', id: 'id' } },
      judged: { judge: { kind: 'none' } },
      privacy: { presidio: { url: 'http://127.0.0.1:2/analyze' } },
    },
  ],
});

it('exports every labelled counter of an alert as 0 before its first event', async () => {
  const exporter = createExporter({
    readStoredGauges: async () => () => ({ current: [], kept: [] }),
    clock: new SteerableClock(),
    logger: new MemoryLogger(),
    version: '0',
  });
  showJobCounters(config, exporter.meter);
  showIngestCounters(config, exporter.meter);
  const text = Buffer.concat(await exporter.scrape()).toString('utf8');
  const watched = new Set(
    ruleGroups(defaultRuleSettings)
      .flatMap(({ recordings, alerts }) => [...recordings, ...alerts])
      .flatMap(({ expr }) => expr.match(/\brecalld_\w+_total\b/g) ?? []),
  );
  expect(watched.size).toBeGreaterThan(5);
  for (const name of watched) expect(text).toMatch(new RegExp(`^${name}(\\{.+\\})? 0$`, 'm'));
  expect(text).toContain('recalld_jobs_total{task="run-golden-set",outcome="dead"} 0');
  expect(text).toContain('recalld_queries_total{pipeline="docs",outcome="timeout"} 0');
});
