import { readFileSync } from 'node:fs';
import path from 'node:path';

const packageFile = path.resolve(import.meta.dirname, '../../package.json');

export const version: string = (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
