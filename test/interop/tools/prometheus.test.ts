/**
 * Runs the alert tests with promtool from Prometheus 3. `npm test` uses Debian's promtool, which is part of Prometheus
 * 2.
 */
import { mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { goProgram } from './go-modules.ts';

const program = await goProgram('github.com/prometheus/prometheus/cmd/promtool');
const bin = await mkdtemp(path.join(tmpdir(), 'recalld-promtool-'));
await symlink(program, path.join(bin, 'promtool'));
process.env['PATH'] = `${bin}:${process.env['PATH']}`;
await import('../../integration/app/alerts/alerts.test.ts');
await import('../../integration/app/alerts/agreement.test.ts');
await import('../../integration/app/alerts/files.test.ts');
await import('../../integration/app/alerts/sentences.test.ts');
