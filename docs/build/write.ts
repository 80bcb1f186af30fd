/**
 * Writes the generated pages. With --check, writes nothing and fails with one sentence for each page that is out of
 * date.
 */
import path from 'node:path';
import { accessPage } from './access-page.ts';
import { agentFaultsPages } from './agent-faults-page.ts';
import { benchmarksPages } from './benchmarks-page.ts';
import { calibrationPages } from './calibration-page.ts';
import { commandsPage } from './commands-page.ts';
import { configPage } from './config-page.ts';
import { dashboardFiles } from './dashboard-files.ts';
import { demoAgentFile } from './demo-agent-file.ts';
import { deployFiles } from './deploy-files.ts';
import { diagnosisPage } from './diagnosis-page.ts';
import { diagnosisWeightsPage } from './diagnosis-weights-page.ts';
import { errorsPage } from './errors-page.ts';
import { exportPage } from './export-page.ts';
import { faultsPages } from './faults-page.ts';
import { httpPage } from './http-page.ts';
import { jobsPage } from './jobs-page.ts';
import { metricsPage } from './metrics-page.ts';
import { stalePages, writePages } from './page.ts';
import { profilesPages } from './profiles-page.ts';
import { runbooksPage } from './runbooks-page.ts';
import { soakPages } from './soak-page.ts';
import { storesPage } from './stores-page.ts';
import { tracingPage } from './tracing-page.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = [
  ...calibrationPages(),
  metricsPage(),
  await commandsPage(),
  configPage(),
  errorsPage(),
  accessPage(),
  exportPage(),
  diagnosisPage(),
  diagnosisWeightsPage(),
  jobsPage(),
  httpPage(),
  runbooksPage(),
  storesPage(),
  tracingPage(),
  ...benchmarksPages(),
  ...profilesPages(),
  ...faultsPages(),
  ...agentFaultsPages(),
  ...soakPages(),
  ...deployFiles(),
  ...dashboardFiles(),
  demoAgentFile(),
];

if (process.argv.includes('--check')) {
  const stale = stalePages(root, pages);
  for (const sentence of stale) process.stderr.write(`${sentence}\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  writePages(root, pages);
}
