/** What is stored of uncovered topics -> metric samples. */
import type { Clock } from '../../ports/clock.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import type { UncoveredTopics } from '../../ports/uncovered-topics.ts';
import { isStale } from './density-evidence.ts';
import { lookEveryMs } from './look-for-topics.ts';
import type { DensityPlan } from './plan.ts';

export interface TopicGaugesDeps {
  readonly topics: Pick<UncoveredTopics, 'latestLooks'>;
  readonly clock: Clock;
  readonly plans: readonly DensityPlan[];
}

/** How many topics of each pipeline are not closed; nothing where the latest look is too old, or saw too little. */
export async function readTopicGauges({ topics, clock, plans }: TopicGaugesDeps): Promise<GaugeSample[]> {
  if (plans.length === 0) return [];
  const now = clock.now();
  const looks = new Map((await topics.latestLooks()).map((look) => [look.pipeline, look]));
  return plans.flatMap((plan) => {
    const { pipeline, graceMs } = plan;
    const look = looks.get(pipeline);
    if (look === undefined || look.lacking !== null) return [];
    if (isStale({ windowMs: lookEveryMs(plan), graceMs }, look.until.getTime(), now)) return [];
    return [sample('recalld_topics_uncovered', { pipeline }, look.unclosed)];
  });
}
