/**
 * Builds everything that depends only on the config. Commands also build what they do not use, so they reject every
 * config that the daemon would reject.
 */

import { createChatModel } from '../connectors/models/chat-model.ts';
import { createReceivers } from '../connectors/receivers/registry.ts';
import type { Logger } from '../core/logger.ts';
import { createDensityPlans } from '../density/plan.ts';
import { createVariantPlans } from '../experiments/plan.ts';
import { createTimetable } from '../golden/timetable.ts';
import { createIndexPlans } from '../index/truth/plan.ts';
import { createJudgingPlans } from '../judging/plan.ts';
import { createLivePlans, liveIntervalSeconds, MAX_SAMPLES } from '../live/live-jobs.ts';
import { createPresidioAnalyzer } from '../live/privacy/personal-data.ts';
import { signInProviderOf } from '../platform/access/sign-in-provider.ts';
import { createOtlpEndpoint } from '../platform/metrics/otlp.ts';
import { readDatabaseUrl } from '../platform/postgres/database-url.ts';
import { assertUsableRedis } from '../platform/queue/redis-connection.ts';
import { createAlertRules } from './commands/alert-rules.ts';
import { periodBudget } from './config/alerts.ts';
import type { Config } from './config/schema.ts';
import { intervalsOf } from './jobs.ts';
import { createLogger } from './logger.ts';
import { closePipelines, createPipelines, naming } from './pipelines.ts';
import { version } from './version.ts';

/**
 * Services open connections and start processes on first use; `close` closes the connections and ends the processes.
 *
 * @throws RecalldError config_invalid
 */
export function buildFromConfig(config: Config, logger: Logger, now: Date) {
  checkServices(config);
  const pipelines = createPipelines(config, logger);
  const judgingPlans = createJudgingPlans(config, pipelines);
  const indexPlans = createIndexPlans(config, pipelines, now);
  const receivers = createReceivers(config.notify);
  const sent = config.metrics.otlp;
  const otlp = sent === undefined ? null : createOtlpEndpoint(sent, { version, startedAt: now });
  const timetable = createTimetable(now);
  return {
    pipelines,
    judgingPlans,
    indexPlans,
    densityPlans: createDensityPlans(config, pipelines),
    variantPlans: createVariantPlans(config),
    receivers,
    otlp,
    timetable,
    intervalSeconds: intervalsOf(pipelines, timetable),
    livePlans: createLivePlans(config),
    liveIntervalSeconds: liveIntervalSeconds(now),
    falsePages: periodBudget(config.alerts.false_pages.per_pipeline),
    maxSamples: MAX_SAMPLES,
    async close(): Promise<void> {
      otlp?.close();
      for (const receiver of receivers) receiver.close();
      for (const { judge } of judgingPlans) judge?.close?.();
      await closePipelines(pipelines);
    },
  };
}

/** Checks the settings of services that are created later: after the database is opened, or on first use. */
function checkServices(config: Config): void {
  const { storage, queue, llm } = config;
  if (storage.url !== 'embedded') readDatabaseUrl(storage.url, 'storage.url');
  if (storage.read_url !== null) readDatabaseUrl(storage.read_url, 'storage.read_url');
  if (queue.backend === 'redis') assertUsableRedis(queue);
  if (llm !== undefined) createChatModel(llm).close?.();
  signInProviderOf(config);
  for (const [index, { name, privacy }] of config.pipelines.entries())
    naming(`pipelines[${index}] (${name})`, () => privacy.presidio && createPresidioAnalyzer(privacy.presidio));
  // Refuses objectives that no alert can monitor.
  createAlertRules(config, 'rules');
}

/**
 * Checks a config by building everything from it.
 *
 * @param source name of the config in messages
 * @throws RecalldError config_invalid
 */
export function assertStartable(config: Config, source: string): void {
  const now = new Date();
  const built = naming(source, () => buildFromConfig(config, createLogger('error'), now));
  void built.close();
}
