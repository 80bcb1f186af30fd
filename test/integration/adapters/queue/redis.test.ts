import { describeJobQueue } from '../../../contract/job-queue.contract.ts';
import { describeWithRedis, useRedis } from '../../../support/redis.ts';

describeWithRedis('the job queue in Redis', () => {
  const redis = useRedis();

  describeJobQueue(() => ({
    settings: { kind: 'redis', url: redis.url },
    goDown: () => redis.stop(),
    fallSilent: () => redis.freeze(),
    comeBack: () => redis.start(),
  }));
});
