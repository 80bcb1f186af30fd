import { describe, expect, it } from 'vitest';
import { createCleanupStack } from '../../../src/core/cleanup-stack.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';

/** A stack with resources that record their names when they are closed; closing the resource `broken` fails. */
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

describe('the cleanup stack', () => {
  it('closes resources one after the other, last opened first', async () => {
    const { stack, closed } = aStack('database', 'queue', 'server');
    await stack.run();
    expect(closed).toEqual(['server', 'queue', 'database']);
  });

  it('closes each resource once, even if two callers run the cleanup at the same time', async () => {
    const { stack, closed } = aStack('database', 'queue');
    await Promise.all([stack.run(), stack.run()]);
    await stack.run();
    expect(closed).toEqual(['queue', 'database']);
  });

  it('continues after a resource that fails to close, and logs its name', async () => {
    const { stack, closed, logger } = aStack('database', 'broken', 'server');
    await stack.run();
    expect(closed).toEqual(['server', 'broken', 'database']);
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'a resource did not close cleanly',
        fields: { what: 'broken', reason: 'it does not close' },
      },
    ]);
  });

  it('closes a resource that was opened during the cleanup', async () => {
    const { stack, closed } = aStack('database');
    stack.defer('late', () => {
      stack.defer('later', () => void closed.push('later'));
    });
    await stack.run();
    expect(closed).toEqual(['later', 'database']);
  });
});
