import { describe, expect, it, onTestFinished } from 'vitest';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { aFolder, descendantsOf, isAlive, runRecalld, spawnRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

describe('recalld demo', () => {
  it('shows real scores, the fall under a broken index, and the recovery, and exits with 0', async () => {
    const { code, stdout, stderr } = await runRecalld(
      ['demo', '--fault', 'index', '--once', '--port', '0'],
      await aFolder(),
    );
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/1190 queries: 1190 ok, 0 empty, 0 error, 0 timeout/);
    expect(stdout).toMatch(
      /ndcg@10 fell from 0\.\d+ to 0\.\d+, far beyond its bounds, and the check is critical\./,
    );
    expect(stdout).toMatch(/Recovered: ndcg@10 is 0\.\d+ again, exactly as before\./);
    expect(stderr).toBe('');
  });

  it('says how to take another port when its own is taken', async () => {
    const other = await startFaultServer(documents([]));
    onTestFinished(() => other.close());
    const { port } = new URL(other.url);
    const { code, stderr } = await runRecalld(['demo', '--once', '--port', port], await aFolder());
    expect(code).toBe(2);
    expect(stderr).toBe(
      `recalld: Port ${port} is taken by another process; choose one with --port, or --port 0 for any.\n`,
    );
  });

  it('ends and leaves nothing behind when it is interrupted during its start', async () => {
    const demo = spawnRecalld(['demo', '--port', '0'], await aFolder());
    const family = await waitFor(() => {
      const pids = descendantsOf(demo.pid);
      return pids.length > 0 ? pids : undefined;
    });
    demo.child.kill('SIGINT');
    const { code, stderr } = await demo.finished;
    expect(code).toBe(130);
    expect(stderr).toBe('');
    await waitFor(() => family.every((pid) => !isAlive(pid)), { timeoutMs: 60_000 });
  });
});
