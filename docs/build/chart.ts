/** `npm run chart`: gives the Helm chart its rules and dashboards, before it is packaged or installed from a checkout. */
import path from 'node:path';
import { chartFiles } from './chart-files.ts';
import { writePages } from './page.ts';

writePages(path.resolve(import.meta.dirname, '../../deploy/helm/recalld'), chartFiles());
