import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import type { JobQueue } from '../../../../src/platform/queue/job-queue.ts';
import { describeJobQueue } from '../../../contract/job-queue.contract.ts';
import { describeJobQueueOutages } from '../../../contract/job-queue-outage.contract.ts';
import { aJob, type TestBackend } from '../../../support/job-queue.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { describeWithRedis, useRedis } from '../../../support/redis.ts';

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

  it('is opened with the password in its URL, and otherwise reports that the password is missing or wrong', async () => {
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

describeWithRedis('a Redis that is not safe for jobs', () => {
  const redis = useRedis();

  async function withRedis(settings: readonly (readonly [string, string])[]): Promise<Redis> {
    const admin = new Redis(redis.url);
    for (const [name, value] of settings) await admin.config('SET', name, value);
    onTestFinished(async () => {
      await admin.config('SET', 'maxmemory', '0');
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      admin.disconnect();
    });
    return admin;
  }

  it('because it evicts keys is reported as unsafe, and logged once', async () => {
    const admin = await withRedis([['maxmemory-policy', 'allkeys-lru']]);
    const log = recordLog();
    const job = aJob();
    const queue = await openJobQueue({ backend: { kind: 'redis', url: redis.url }, jobs: [job], logger: log.logger });
    onTestFinished(() => queue.close());
    await queue.work(async () => 'done');
    for (let times = 0; times < 3; times += 1)
      expect(await queue.problems()).toEqual([expect.stringContaining('maxmemory-policy allkeys-lru')]);
    expect(log.entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await queue.problems()).toEqual([]);
  });

  it('because it is full is reported as unsafe and when a job is enqueued, and recovers with more memory', async () => {
    const log = recordLog();
    const job = aJob();
    const queue = await openJobQueue({ backend: { kind: 'redis', url: redis.url }, jobs: [job], logger: log.logger });
    onTestFinished(() => queue.close());
    const admin = await withRedis([['maxmemory', '1mb']]);
    await expect(queue.enqueue(job.name, {}, 'one')).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('full'),
    });
    expect(await queue.problems()).toEqual([expect.stringMatching(/is full .* of 1 MB/)]);
    await admin.config('SET', 'maxmemory', '0');
    await queue.enqueue(job.name, {}, 'one');
    expect(await queue.problems()).toEqual([]);
    expect(log.entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('because it belongs to another deployment is refused, and an unclaimed Redis is claimed', async () => {
    const open = (id: string) =>
      openJobQueue({
        backend: { kind: 'redis', url: redis.url },
        jobs: [],
        logger: silentLogger,
        owner: { id, name: `database ${id}` },
      });
    const queue = await open('a');
    onTestFinished(() => queue.close());
    await expect(open('b')).rejects.toMatchObject({
      code: 'queue_taken',
      message: expect.stringMatching(/database a.*database b/),
    });
    const admin = await withRedis([]);
    await admin.flushall();
    await (await open('b')).close();
    expect(await queue.problems()).toEqual([expect.stringMatching(/database b.*database a/)]);
    await admin.flushall();
    expect(await queue.problems()).toEqual([]);
    await expect(open('b')).rejects.toMatchObject({ code: 'queue_taken' });
  });
});

describe('a Redis URL that cannot be parsed, as with a # in the password', () => {
  it('is a config error, and is not shown', async () => {
    const error = await open('redis://me:not#the-password@redis.example').catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('queue.url') });
    expect(String(error)).not.toContain('the-password');
  });
});
