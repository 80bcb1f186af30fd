/**
 * Tests that docker-compose.yml, the Dockerfile and the mounted files match each other and the program. These tests do
 * not run Docker.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configJsonSchema, environmentVariables, parseConfig } from '../../../src/app/config/parse.ts';
import { roles } from '../../../src/app/serve.ts';
import { postgresSource, prometheusSource } from '../../../src/platform/dashboards/promql.ts';
import { type ComposeService, readCompose } from '../../support/compose-file.ts';
import { missing } from '../../support/missing.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const { compose, env, filled } = readCompose();
const services = Object.entries(compose.services).map(([name, service]) => ({ name, ...service }));
const ours = services.filter(({ build }) => build !== undefined);
const daemons = ours.filter(({ command }) => command?.[0] === 'serve');
const dockerfile = read('Dockerfile');
const packageJson = JSON.parse(read('package.json')) as {
  version: string;
  bin: { recalld: string };
  engines: { node: string };
};

const mounts = services.flatMap(({ name, volumes = [] }) =>
  volumes.map((volume) => {
    const [from = '', to = '', mode] = filled(volume).split(':');
    return { service: name, from, to, mode };
  }),
);

const configText = read('deploy/compose/demo.yaml');
const configOf = ({ environment = {} }: ComposeService) =>
  parseConfig(
    configText,
    'demo.yaml',
    Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filled(value)])),
    () => '',
  );

describe('docker-compose.yml', () => {
  it('mounts only files and folders that exist, and volumes that the file declares', () => {
    expect(mounts.length).toBeGreaterThan(10);
    const lost = mounts.filter(({ from }) =>
      from.startsWith('./') ? !existsSync(path.join(root, from)) : !Object.hasOwn(compose.volumes, from),
    );
    expect(lost).toEqual([]);
  });

  it('mounts files of the repository read-only', () => {
    expect(mounts.filter(({ from, mode }) => from.startsWith('./') && mode !== 'ro')).toEqual([]);
  });

  it('is valid by the schema of the Compose Specification', () => {
    // The schema's definitions are named as in JSON Schema draft 7, so zod must apply the rules of that draft.
    const specification = { ...(JSON.parse(read('test/fixtures/compose-spec/compose-spec.json')) as object) };
    const schema = z.fromJSONSchema({ ...specification, $schema: 'http://json-schema.org/draft-07/schema#' } as never);
    const file = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, object> };
    expect(schema.safeParse(file).error).toBeUndefined();
    const mistyped = { ...file, services: { ...file.services, api: { ...file.services['api'], portz: [] } } };
    expect(schema.safeParse(mistyped).success).toBe(false);
  });

  it('pins every image to a version', () => {
    for (const { name, image } of services) {
      expect({ name, image }).toEqual({
        name,
        image: expect.stringMatching(/^[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*$/),
      });
    }
    expect(new Set(ours.map(({ image }) => image))).toEqual(new Set([`recalld:${packageJson.version}`]));
  });

  it('uses exactly the variables that .env.example documents', () => {
    const used = new Set([...read('docker-compose.yml').matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name));
    expect(used).toEqual(new Set(Object.keys(env)));
  });

  it('contains no password, and no default for one', () => {
    const secret = /PASSWORD|SECRET|TOKEN|KEY|AUTH$/;
    const text = read('docker-compose.yml');
    for (const name of Object.keys(env).filter((each) => secret.test(each) && !each.endsWith('_SECRETS'))) {
      expect(read('.env.example')).toMatch(new RegExp(`^${name}=$`, 'm'));
      for (const [use] of text.matchAll(new RegExp(`\\$\\{${name}[^}]*\\}`, 'g'))) expect(use).toContain(':?');
    }
    const plain = services.flatMap(({ name, environment = {} }) =>
      Object.entries(environment)
        .filter(([variable, value]) => secret.test(variable) && !/^\$\{\w+:\?[^}]+\}$/.test(value))
        .map(([variable]) => `${name}: ${variable}`),
    );
    expect(plain).toEqual([]);
    const inAddresses = [...text.matchAll(/:\/\/\w*:([^@\n]*)@/g)].map(([, password]) => password);
    expect(inAddresses).toHaveLength(3);
    for (const password of inAddresses) expect(password).toMatch(/^\$\{\w+:\?[^}]+\}$/);
  });

  it('publishes ports on loopback unless LISTEN_ADDRESS is changed', () => {
    const published = services.flatMap(({ ports = [] }) => ports);
    expect(published.length).toBeGreaterThan(3);
    for (const port of published) expect(port).toMatch(/^\$\{LISTEN_ADDRESS:-127\.0\.0\.1\}:\$\{\w+:-\d+\}:\d+$/);
    expect(env['LISTEN_ADDRESS']).toBe('127.0.0.1');
  });

  it('waits only for existing services, and only on conditions that these services can meet', () => {
    for (const { name, depends_on: needed = {} } of services) {
      for (const [other, { condition }] of Object.entries(needed)) {
        const service = compose.services[other];
        expect({ name, other, exists: service !== undefined }).toEqual({ name, other, exists: true });
        if (condition === 'service_healthy')
          expect({ other, test: service?.healthcheck?.test }).toEqual({ other, test: expect.any(Array) });
        else expect({ other, restart: service?.restart }).toEqual({ other, restart: 'no' });
      }
    }
  });

  it('has a health check for each long-running service', () => {
    const unwatched = services.filter(
      ({ restart, healthcheck, build }) =>
        restart === 'unless-stopped' && build === undefined && healthcheck?.test === undefined,
    );
    expect(unwatched.map(({ name }) => name)).toEqual([]);
    expect(dockerfile).toContain('HEALTHCHECK');
  });

  it('starts the demo only if its profile is selected', () => {
    const demo = services.filter(({ name }) => name.startsWith('demo'));
    expect(demo.length).toBeGreaterThan(0);
    for (const { name, profiles } of services)
      expect({ name, profiles }).toEqual({ name, profiles: name.startsWith('demo') ? ['demo'] : undefined });
  });
});

describe('the services of recalld', () => {
  it('run each role once', () => {
    const taken = daemons.map(({ command = [] }) => command[command.indexOf('--roles') + 1]);
    expect(taken).toHaveLength(roles.length);
    expect(new Set(taken)).toEqual(new Set(roles));
  });

  it('set only environment variables that the config has', () => {
    const known = new Set(environmentVariables(configJsonSchema()).map(({ name }) => name));
    const variables = ours.flatMap(({ environment = {} }) => Object.keys(environment));
    expect(variables.filter((name) => !known.has(name))).toEqual([]);
  });

  it('connect to the database and the queue of the Compose file', () => {
    for (const daemon of daemons) {
      const { storage, queue, server } = configOf(daemon);
      expect(server.host).toBe('0.0.0.0');
      const database = new URL(storage.url);
      expect(compose.services[database.hostname]?.environment).toMatchObject({
        POSTGRES_USER: 'postgres',
        POSTGRES_DB: database.pathname.slice(1),
      });
      expect([database.username, database.password]).toEqual(['recalld_app', env['POSTGRES_APP_PASSWORD']]);
      const redis = new URL('url' in queue ? queue.url : '');
      expect(compose.services[redis.hostname]?.image).toMatch(/^redis:/);
      expect(redis.password).toBe(env['REDIS_PASSWORD']);
    }
  });

  it('never get the password of the superuser, and only the migration gets the password of the owner', () => {
    const servicesWith = (variable: string): string[] =>
      services
        .filter(({ environment = {} }) => Object.values(environment).some((value) => value.includes(`{${variable}:`)))
        .map(({ name }) => name)
        .toSorted();
    expect(servicesWith('POSTGRES_PASSWORD')).toEqual(['grafana-reader', 'postgres', 'roles']);
    expect(servicesWith('POSTGRES_OWNER_PASSWORD')).toEqual(['migrate', 'roles']);
  });

  it('start after the migration, which starts after the creation of the roles', () => {
    for (const { depends_on: needed } of [...daemons, compose.services['demo-golden-set']] as ComposeService[])
      expect(needed).toMatchObject({ migrate: { condition: 'service_completed_successfully' } });
    expect(compose.services['migrate']?.depends_on).toEqual({
      roles: { condition: 'service_completed_successfully' },
    });
  });

  it('listen on the port of the image, the health check and the Compose file', () => {
    const { port } = configOf(daemons[0] as ComposeService).server;
    expect(dockerfile).toContain(`EXPOSE ${port}`);
    expect(dockerfile).toContain(`http://127.0.0.1:${port}/readyz`);
    const api = compose.services['api'];
    expect(api?.ports?.map((each) => filled(each).split(':').at(-1))).toEqual([String(port)]);
    expect(env['RECALLD_PORT']).toBe(String(port));
  });

  it('read the mounted config', () => {
    for (const { name, command = [] } of ours.filter(({ command: args = [] }) => args.length > 0)) {
      const file = command[command.indexOf('--config') + 1];
      expect({ name, mounted: mounts.some(({ service, to }) => service === name && to === file) }).toEqual({
        name,
        mounted: true,
      });
    }
    expect(env['RECALLD_CONFIG']).toBe('./deploy/compose/demo.yaml');
  });

  it('monitor the demo service at its address', () => {
    const [pipeline] = configOf(daemons[0] as ComposeService).pipelines;
    const standalone = read('src/demo/rag/standalone.ts');
    const port = /PORT = (\d+)/.exec(standalone)?.[1];
    const addresses = JSON.stringify(pipeline).match(/http:\/\/[\w.:-]+/g) ?? [];
    expect(new Set(addresses)).toEqual(new Set([`http://demo-rag:${port}`]));
    expect(compose.services['demo-rag']?.entrypoint).toContain('dist/demo/rag/standalone.js');
    expect(compose.services['demo-rag']?.healthcheck?.test?.join(' ')).toContain(`:${port}/healthz`);
    const imported = compose.services['demo-golden-set']?.command ?? [];
    expect(pipeline?.golden.map(({ set }) => set)).toEqual([imported[imported.indexOf('--set') + 1]]);
    expect(existsSync(path.join(root, imported.find((part) => part.startsWith('/app/'))?.slice(5) ?? '?'))).toBe(true);
  });
});

describe('the Dockerfile', () => {
  it('labels the image with the licence and the version of package.json', () => {
    expect(dockerfile).toContain('org.opencontainers.image.licenses="Apache-2.0"');
    expect(dockerfile).toContain(`ARG VERSION=${packageJson.version}`);
  });

  it('copies only files that exist and that .dockerignore includes', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
    expect(copied.length).toBeGreaterThan(5);
    const ignored = read('.dockerignore').split('\n');
    for (const file of copied) {
      expect({ file, exists: existsSync(path.join(root, file)) }).toEqual({ file, exists: true });
      expect(ignored).toContain(`!${file.split('/')[0]}`);
    }
  });

  it('runs the program of package.json on a supported Node.js, and not as root', () => {
    expect(dockerfile).toContain(`"node", "${packageJson.bin.recalld}"]`);
    expect(dockerfile.match(/^USER (.+)$/m)?.[1]).toBe('1000:1000');
    const versions = [...dockerfile.matchAll(/^ARG BASE=node:(\d+)\.(\d+)\.\d+-bookworm-slim$/gm)];
    expect(versions).toHaveLength(1);
    expect(dockerfile.match(/^FROM \$\{BASE\}/gm)).toHaveLength(2);
    for (const [, major, minor] of versions) {
      expect(packageJson.engines.node).toBe('^20.19 || >=22');
      expect([20, 22, 24]).toContain(Number(major));
      if (major === '20') expect(Number(minor)).toBeGreaterThanOrEqual(19);
    }
  });
});

describe('Grafana', () => {
  const { datasources } = parse(read('grafana/provisioning/datasources/recalld.yaml')) as {
    datasources: readonly {
      uid: string;
      type: string;
      url: string;
      user?: string;
      jsonData: { database?: string };
      secureJsonData?: { password: string };
    }[];
  };

  it('has a data source for each type that the dashboards query', () => {
    expect(datasources.map(({ type }) => type)).toEqual([prometheusSource.type, postgresSource.type]);
  });

  it('reaches its data sources at the addresses of the Compose file', () => {
    for (const { url } of datasources) {
      const { hostname, port } = new URL(url.includes('://') ? url : `tcp://${url}`);
      const service = compose.services[hostname];
      expect({ url, exists: service !== undefined }).toEqual({ url, exists: true });
      const published = service?.ports?.map((each) => filled(each).split(':').at(-1)) ?? ['5432'];
      expect(published).toEqual([port]);
    }
  });

  it('queries PostgreSQL as the reader role, with a password from the environment', () => {
    const postgres = datasources.find(({ type }) => type === postgresSource.type);
    expect(read('deploy/postgres/grafana-reader.sql')).toContain(`create role ${postgres?.user}`);
    expect(read('deploy/postgres/grafana-password.sql')).toContain(`alter role ${postgres?.user}`);
    expect(postgres?.jsonData.database).toBe(compose.services['postgres']?.environment?.['POSTGRES_DB']);
    const variable = postgres?.secureJsonData?.password.slice(1) ?? '';
    expect(compose.services['grafana']?.environment?.[variable]).toContain(`\${${variable}:?`);
    const command = compose.services['grafana-reader']?.command?.[0] ?? '';
    for (const [, file = ''] of command.matchAll(/-f \/sql\/(\S+)/g))
      expect(existsSync(path.join(root, 'deploy/postgres', file))).toBe(true);
  });

  it('reads the dashboards from the folder where they are mounted', () => {
    const { providers } = parse(read('grafana/provisioning/dashboards/recalld.yaml')) as {
      providers: readonly { options: { path: string } }[];
    };
    expect(mounts).toContainEqual({
      service: 'grafana',
      from: './grafana/dashboards',
      to: providers[0]?.options.path,
      mode: 'ro',
    });
    expect(statSync(path.join(root, 'grafana/dashboards')).isDirectory()).toBe(true);
  });
});

describe('Prometheus and Alertmanager', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'recalld-compose-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const prometheus = parse(read('deploy/compose/prometheus.yml')) as {
    scrape_configs: readonly {
      job_name: string;
      dns_sd_configs: readonly { names: string[]; port: number }[];
    }[];
    alerting: { alertmanagers: readonly { static_configs: readonly { targets: string[] }[] }[] };
  };

  it('scrape every daemon at its port, under the job name of the alert rules', () => {
    const [scrape] = prometheus.scrape_configs;
    const config = configOf(daemons[0] as ComposeService);
    expect(scrape).toMatchObject({ job_name: config.alerts.scrape_job });
    expect(scrape?.dns_sd_configs).toMatchObject([{ port: config.server.port }]);
    expect(scrape?.dns_sd_configs[0]?.names.toSorted()).toEqual(daemons.map(({ name }) => name).toSorted());
  });

  it('send alerts to the Alertmanager of the Compose file', () => {
    const [target = ''] = prometheus.alerting.alertmanagers[0]?.static_configs[0]?.targets ?? [];
    const [host = '', port] = target.split(':');
    expect(compose.services[host]?.ports?.map((each) => filled(each).split(':').at(-1))).toEqual([port]);
  });

  it.skipIf(missing('promtool'))('pass the checks of promtool', () => {
    // Copies the files that Prometheus reads in its container.
    for (const { from, to } of mounts.filter(
      ({ service, to: place }) => service === 'prometheus' && place.startsWith('/etc/'),
    ))
      cpSync(path.join(root, from), path.join(folder, path.basename(to)));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', path.join(folder, 'prometheus.yml')], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
  });

  it.skipIf(missing('amtool'))('pass the checks of amtool', () => {
    const mounted = mounts.find(({ to }) => to === '/etc/alertmanager/alertmanager.yml');
    const { status, stderr } = spawnSync('amtool', ['check-config', path.join(root, mounted?.from ?? '')], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('read secrets from the folder where they are mounted', () => {
    const place = mounts.find(
      ({ service, from }) => service === 'alertmanager' && from === env['ALERTMANAGER_SECRETS'],
    )?.to;
    const files = [...read('deploy/alertmanager/alertmanager.yml').matchAll(/_file: (\S+)/g)].map(([, file = '']) =>
      path.dirname(file),
    );
    expect(new Set(files)).toEqual(new Set([place]));
  });
});
