/**
 * A separate process that works on a job queue, for tests in which it dies or ends on its own.
 *
 * The only argument is WorkerSettings as JSON. The process reports each job as a line on stdout, `running ID`. Then the
 * process either never ends the job (`hang`), or ends it, closes the queue and leaves the rest to Node.js: immediately
 * (`leave`), or on a signal through stdin (`hold`).
 */
import { once } from 'node:events';
import { openJobQueue, type QueueSettings } from '../../src/platform/queue/bullmq.ts';
import { silentLogger } from './log.ts';

export interface WorkerSettings extends Omit<QueueSettings, 'logger'> {
  readonly manner: 'hang' | 'leave' | 'hold';
}

const [argument = '{}'] = process.argv.slice(2);
const { manner, ...settings } = JSON.parse(argument) as WorkerSettings;
const queue = await openJobQueue({ ...settings, logger: silentLogger });
const jobEnded = new Promise<void>((resolve, reject) => {
  const working = queue.work(async (_, __, id) => {
    process.stdout.write(`running ${id}\n`);
    if (manner === 'hang') await new Promise(() => undefined);
    if (manner === 'hold') {
      await once(process.stdin, 'data');
      process.stdin.destroy();
    }
    resolve();
    return 'done';
  });
  working.catch(reject);
});
await jobEnded;
await queue.close();
process.stdout.write('closed\n');
