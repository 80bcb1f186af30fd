import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { forbiddenTerms } from './terms.ts';

const root = path.resolve(import.meta.dirname, '../..');

const roots = ['src', 'docs', 'deploy', 'grafana', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

const files = roots.flatMap((name) =>
  name.endsWith('.md')
    ? [name]
    : readdirSync(path.join(root, name), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(tsx?|md|ya?ml|json|sql|css|tpl|txt|py|conf)$/.test(file))
        .map((file) => `${name}/${file.replaceAll(path.sep, '/')}`),
);

describe('the project terms', () => {
  const found = files.flatMap((file) => forbiddenTerms(file, readFileSync(path.join(root, file), 'utf8')));

  it('are used in code, comments, messages and documentation', () => {
    expect(found).toEqual([]);
  });

  it('are enforced in identifiers, comments and messages', () => {
    const planted = [
      'const isInAlarm = state.in_alarm;',
      '// Nobody looks at it anew.',
      "logger.info('the store was told to wait');",
      'const falseAlarmRate = 0.01; // recommended, and never false alarms',
    ].join('\n');
    expect(forbiddenTerms('src/planted.ts', planted).map((line) => line.split(':').slice(0, 3).join(':'))).toEqual([
      'src/planted.ts:1: "In Alarm"',
      'src/planted.ts:1: "Alarm"',
      'src/planted.ts:2: "anew"',
      'src/planted.ts:2: "Nobody"',
      'src/planted.ts:3: "told"',
    ]);
  });
});
