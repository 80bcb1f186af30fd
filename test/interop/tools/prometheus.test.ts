/** Runs the tests of alerts with the promtool of Prometheus 3. Debian's, with which `npm test` runs them, is of Prometheus 2. */
import path from 'node:path';
import { goProgram } from './go-modules.ts';

const promtool = await goProgram('github.com/prometheus/prometheus/cmd/promtool');
process.env['PATH'] = `${path.dirname(promtool)}:${process.env['PATH']}`;
await import('../../integration/app/alerts/alerts.test.ts');
await import('../../integration/app/alerts/agreement.test.ts');
await import('../../integration/app/alerts/files.test.ts');
await import('../../integration/app/alerts/sentences.test.ts');
