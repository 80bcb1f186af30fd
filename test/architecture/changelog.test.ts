import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { changelogProblem } from '../../docs/build/changelog.ts';

const root = path.resolve(import.meta.dirname, '../..');

it('blocks a release while the changelog says "Unreleased" or lacks the version', () => {
  expect(changelogProblem('# Changelog\n\n## Unreleased\n\n## 0.1.0\n', '0.2.0')).toContain('Unreleased');
  expect(changelogProblem('# Changelog\n\n## 0.1.0\n', '0.2.0')).toContain('0.2.0');
  expect(changelogProblem('# Changelog\n\n## 0.2.0 - 2026-12-01\n\n## 0.1.0\n', '0.2.0')).toBeNull();
});

it('checks the changelog in the release workflow and before npm publishes', () => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scripts['prepublishOnly']).toContain('check:changelog');
  expect(readFileSync(path.join(root, '.github/workflows/release.yml'), 'utf8')).toContain('npm run check:changelog');
});
