import { describe, expect, it } from 'vitest';
import { createCleanupStack } from '../../../src/core/cleanup-stack.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';

/** A stack with resources that note when they are closed; `broken` fails. */
function aStack(...names: readonly string[]) {
  const logger = new MemoryLogger();
  const stack = createCleanupStack(logger);
  const closed: string[] = [];
  for (const name of names) {
    stack.defer(name, async () => {
      await Promise.resolve();
      closed.push(name);
      if (name === 'broken') throw new Error('it does not close');
    });
  }
  return { stack, closed, logger };
}

describe('what the program opened', () => {
  it('is closed one after the other, last opened first', async () => {
    const { stack, closed } = aStack('database', 'queue', 'server');
    await stack.run();
    expect(closed).toEqual(['server', 'queue', 'database']);
  });

  it('is closed once, also when two ask for it at the same time', async () => {
    const { stack, closed } = aStack('database', 'queue');
    await Promise.all([stack.run(), stack.run()]);
    await stack.run();
    expect(closed).toEqual(['queue', 'database']);
  });

  it('is closed although something before it did not close, which is logged by its name', async () => {
    const { stack, closed, logger } = aStack('database', 'broken', 'server');
    await stack.run();
    expect(closed).toEqual(['server', 'broken', 'database']);
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'something did not close cleanly',
        fields: { what: 'broken', reason: 'it does not close' },
      },
    ]);
  });

  it('is closed too when it was opened while closing', async () => {
    const { stack, closed } = aStack('database');
    stack.defer('late', () => {
      stack.defer('later', () => void closed.push('later'));
    });
    await stack.run();
    expect(closed).toEqual(['later', 'database']);
  });
});
