import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** Joins parts of a host name, so that this file does not contain the host names that it forbids. */
const ends = (...labels: string[]): string => labels.join(String.raw`\.`);
const registryHosts = new RegExp(
  String.raw`\b(?:${[
    ends('npmjs', '(?:org|com)'),
    ends('npmmirror', 'com'),
    ends('yarnpkg', 'com'),
    ends('pkg', 'github', 'com'),
    ends('pypi', 'org'),
    ends('pythonhosted', 'org'),
    ends('(?:deb|ftp[a-z0-9.]*|security|snapshot|archive)', 'debian', 'org'),
    ends('(?:archive|security|ports)', 'ubuntu', 'com'),
    ends('apt', 'postgresql', 'org'),
    ends('proxy', 'golang', 'org'),
    ends('crates', 'io'),
    ends('rubygems', 'org'),
    ends('(?:repo1?|central)', 'maven', '(?:org|apache\\.org)'),
    ends('(?:registry-1|index)', 'docker', 'io'),
  ].join('|')})\b`,
  'i',
);

/** Folders that are not searched: Git's data, and the output of builds, tests and installations. */
const made = new Set(['.git', 'node_modules', 'dist', 'coverage', '.recalld', '.recalld-demo', '__pycache__']);

/** Returns every text file in the checkout; a file that contains a NUL is binary. */
function textsOf(folder: string): { readonly file: string; readonly text: string }[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !made.has(name) && !name.endsWith('.log'))
    .flatMap((entry) => {
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return textsOf(file);
      if (!entry.isFile()) return [];
      const text = readFileSync(path.join(root, file), 'utf8');
      return text.includes('\0') ? [] : [{ file, text }];
    });
}

describe('the repository', () => {
  it('names no host of a package registry or mirror: npm, pip and apt have their own settings', () => {
    const naming = textsOf('')
      .map(({ file, text }) => ({ file, host: registryHosts.exec(text)?.[0] }))
      .filter(({ host }) => host !== undefined);
    expect(naming).toEqual([]);
  });

  it('has a lockfile that resolves packages from the configured npm registry', () => {
    const lock = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
    expect(lock).not.toMatch(/"resolved": "https?:/);
    expect(readFileSync(path.join(root, '.npmrc'), 'utf8')).toContain('omit-lockfile-registry-resolved=true');
  });

  it('is searched with a pattern that finds a planted host', () => {
    expect(registryHosts.test(`http://${['deb', 'debian', 'org'].join('.')}/debian`)).toBe(true);
    expect(registryHosts.test(`https://${['registry', 'npmjs', 'org'].join('.')}/x`)).toBe(true);
  });
});
