/** Checks docker-compose.yml as Docker Compose reads it; `docker compose config` needs no Docker engine. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readCompose } from '../../support/compose-file.ts';
import { goProgram } from './go-modules.ts';

// The newest version that Go 1.26.8 can build.
const dockerCompose = await goProgram('github.com/docker/compose/v5/cmd', 'v5.5.1');
const { compose, env, filled } = readCompose();

interface Loaded {
  readonly services: Readonly<Record<string, LoadedService>>;
}

interface LoadedService {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly ports?: readonly { readonly host_ip: string; readonly published: string; readonly target: number }[];
}

function load(env: Readonly<Record<string, string>>) {
  return spawnSync(dockerCompose, ['--profile', '*', 'config', '--format', 'json'], {
    cwd: path.resolve(import.meta.dirname, '../../..'),
    env,
    encoding: 'utf8',
  });
}

it('docker-compose.yml loads with the values of .env.example, and as other tests read the file', () => {
  const { status, stdout, stderr } = load(env);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  // Compose writes $ as $$, so that its output is a valid Compose file.
  const { services } = JSON.parse(stdout.replaceAll('$$', () => '$')) as Loaded;
  expect(Object.keys(services).toSorted()).toEqual(Object.keys(compose.services).toSorted());
  for (const [name, { image, environment = {}, ports = [] }] of Object.entries(compose.services)) {
    const loaded = services[name];
    expect(loaded?.image).toBe(image);
    const expected = Object.entries(environment).map(([key, value]) => [key, filled(value)]);
    expect({ name, environment: loaded?.environment ?? {} }).toEqual({
      name,
      environment: Object.fromEntries(expected),
    });
    const published = (loaded?.ports ?? []).map((port) => `${port.host_ip}:${port.published}:${port.target}`);
    expect(published).toEqual(ports.map(filled));
  }
});

it('Docker Compose names each missing secret', () => {
  const { status, stderr } = load({});
  expect(status).not.toBe(0);
  const secrets = Object.keys(env).filter((name) => name.endsWith('PASSWORD'));
  expect(secrets.length).toBeGreaterThan(3);
  for (const secret of secrets) expect(stderr).toContain(`required variable ${secret} is missing a value`);
});
