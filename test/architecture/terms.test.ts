import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { forbiddenTerms } from './terms.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Folders that still contain forbidden terms, and on how many lines. A number may only decrease. */
const pending: Readonly<Record<string, number>> = {
  'docs/build': 8,
  'docs/explanation': 11,
  'docs/reference': 2,
  'src/demo': 4,
  'src/judging': 5,
  'src/platform': 3,
};

const roots = ['src', 'docs', 'deploy', 'grafana', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

const files = roots.flatMap((name) =>
  name.endsWith('.md')
    ? [name]
    : readdirSync(path.join(root, name), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(tsx?|md|ya?ml|json|sql|css|tpl|txt|py|conf)$/.test(file))
        .map((file) => `${name}/${file.replaceAll(path.sep, '/')}`),
);

/** `src/golden` for `src/golden/runs/plan.ts:12: ...`. */
function areaOf(line: string): string {
  return line.split(':', 1).join().split('/').slice(0, 2).join('/');
}

describe('the project terms', () => {
  const found = files.flatMap((file) => forbiddenTerms(file, readFileSync(path.join(root, file), 'utf8')));
  const areas = [...new Set(found.map(areaOf))];

  it('are used in code, comments, messages and documentation', () => {
    const beyond = areas.flatMap((area) => {
      const lines = found.filter((line) => areaOf(line) === area);
      return lines.length > (pending[area] ?? 0) ? lines : [];
    });
    expect(beyond).toEqual([]);
  });

  it('include forbidden terms that are found in an identifier, a comment and a message', () => {
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
