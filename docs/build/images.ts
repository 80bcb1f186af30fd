/**
 * Takes the documentation's screenshots: starts the demo with a fault, waits until an alert fires, and captures the
 * console. `npm run docs:images` needs Chromium in /usr/bin.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const folder = path.join(import.meta.dirname, '../images');
const DEADLINE_MS = 10 * 60_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

async function firingIncident(url: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/incidents?limit=1`).catch(() => null);
  if (response === null || !response.ok) return false;
  const { items } = (await response.json()) as { items: { closed_at: string | null; severity: string }[] };
  return items.some(({ closed_at: closedAt, severity }) => closedAt === null && severity === 'critical');
}

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const demo = spawn(
  process.execPath,
  // Node.js runs the program directly, because npx does not forward signals.
  ['--import', 'tsx', 'src/cli/main.ts', 'demo', '--port', String(port), '--fault', 'index'],
  { stdio: ['ignore', 'inherit', 'inherit'] },
);
try {
  const until = Date.now() + DEADLINE_MS;
  while (!(await firingIncident(url))) {
    if (demo.exitCode !== null) throw new Error(`The demo ended with code ${demo.exitCode} before an alert fired.`);
    if (Date.now() > until) throw new Error(`No alert fired within ${DEADLINE_MS / 60_000} minutes.`);
    await sleep(250);
  }
  const program = ['chromium-headless-shell', 'chromium', 'google-chrome']
    .map((name) => `/usr/bin/${name}`)
    .find((file) => existsSync(file));
  const browser = await chromium.launch({
    args: ['--no-sandbox'],
    ...(program === undefined ? {} : { executablePath: program }),
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
  await page.goto(`${url}/?range=24h`);
  await page.screenshot({ path: path.join(folder, 'console.png') });
  await browser.close();
} finally {
  demo.kill('SIGINT');
}
