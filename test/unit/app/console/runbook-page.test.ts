import { describe, expect, it } from 'vitest';
import { documentedAlerts } from '../../../../docs/build/runbooks-page.ts';
import { readRunbook } from '../../../../src/app/console/pages.ts';

describe('the runbooks of the console', () => {
  it('exist for every alert, with headings, commands and links to each other', async () => {
    for (const { alert } of documentedAlerts()) expect(await readRunbook(alert)).toMatchObject({ title: alert });
    const { html } = await readRunbook('RecalldCheckCritical');
    expect(html).toContain('<h2>What it means</h2>');
    expect(html).toContain('recalld checks --pipeline docs');
    expect(html).toContain('<a href="/runbooks/RecalldStoreShrank">RecalldStoreShrank</a>');
  });

  it('contain only links that the console serves', async () => {
    for (const name of [...documentedAlerts().map(({ alert }) => alert), 'README']) {
      const { html } = await readRunbook(name);
      const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href ?? '');
      expect(links.filter((href) => !/^(?:https?:\/\/|\/runbooks\/\w+$)/.test(href))).toEqual([]);
    }
  });

  it.each(['RecalldNothing', '../metrics', '..', ''])('do not include the page %s', async (name) => {
    await expect(readRunbook(name)).rejects.toThrow(`There is no runbook ${name}; see /runbooks/README.`);
  });
});
