/**
 * A separate process that runs queued jobs, for tests in which the process is killed or exits by itself.
 *
 * The only argument is WorkerSettings as JSON. The process writes the line `running ID` to stdout for each job. With
 * `hang`, the job never ends. Otherwise, the job ends, either at once (`leave`) or after a signal through stdin
 * (`hold`); the process then closes the queue, and Node.js exits by itself.
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
