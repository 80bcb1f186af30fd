import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStateFile } from '../../../../src/platform/files/text-file.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-state-'));
});

afterAll(() => rm(folder, { recursive: true }));

describe('the state of interrupted work', () => {
  it('contains the recorded steps, without a truncated last step', async () => {
    const file = createStateFile(join(folder, 'work.jsonl'));
    expect(await file.read()).toBeNull();

    await file.start([{ seed: 1 }]);
    await file.add({ step: 1 });
    await appendFile(file.path, '{"step": 2');

    expect(await file.read()).toEqual([{ seed: 1 }, { step: 1 }]);
    await file.remove();
    expect(await file.read()).toBeNull();
  });

  it('causes an error with the path of its file if a step cannot be appended', async () => {
    const path = join(folder, 'gone', 'work.jsonl');

    await expect(createStateFile(path).add({ step: 1 })).rejects.toMatchObject({
      code: 'file_unwritable',
      message: `${path} could not be written (ENOENT); use another path.`,
    });
  });
});
