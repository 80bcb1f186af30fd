import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openJobQueue } from '../../../src/queue/bullmq.ts';
import type { JobQueue } from '../../../src/queue/job-queue.ts';
import { describeJobQueue } from '../../contract/job-queue.contract.ts';
import { describeJobQueueOutages } from '../../contract/job-queue-outage.contract.ts';
import type { TestBackend } from '../../support/job-queue.ts';
import { silentLogger } from '../../support/log.ts';
import { describeWithRedis, useRedis } from '../../support/redis.ts';

function open(url: string): Promise<JobQueue> {
  return openJobQueue({ backend: { kind: 'redis', url }, jobs: [], logger: silentLogger });
}

describeWithRedis('the job queue in Redis', () => {
  const redis = useRedis();

  const backend = (): TestBackend => ({
    settings: { kind: 'redis', url: redis.url },
    goDown: () => redis.stop(),
    fallSilent: () => redis.freeze(),
    comeBack: () => redis.start(),
  });

  describeJobQueue(backend);
  describeJobQueueOutages(backend);

  it('is opened with the password of its URL, and without it says why not', async () => {
    const admin = new Redis(redis.url);
    await admin.config('SET', 'requirepass', 'the-password');
    onTestFinished(async () => {
      await admin.config('SET', 'requirepass', '');
      admin.disconnect();
    });
    const withPassword = (password: string): string => redis.url.replace('//', `//:${password}@`);
    const queue = await open(withPassword('the-password'));
    await queue.close();
    for (const url of [redis.url, withPassword('a-wrong-one')]) {
      const error = await open(url).catch((caught: unknown) => caught);
      expect(error).toMatchObject({
        code: 'queue_unreachable',
        message: expect.stringMatching(/NOAUTH|WRONGPASS/),
      });
      expect(String(error)).not.toContain('a-wrong-one');
    }
  });
});

describe('a URL of Redis that cannot be read, as with a # in the password', () => {
  it('is a matter of the config, and is not shown', async () => {
    const error = await open('redis://me:not#the-password@redis.example').catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('queue.url') });
    expect(String(error)).not.toContain('the-password');
  });
});
