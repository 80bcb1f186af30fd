/** `npm run chart`: writes rules and dashboards into the Helm chart. Run it before you package or install the chart. */
import path from 'node:path';
import { chartFiles } from './chart-files.ts';
import { writePages } from './page.ts';

writePages(path.resolve(import.meta.dirname, '../../deploy/helm/recalld'), chartFiles());
