/**
 * Tests that a redaction service removes names from all text before the text is stored, and that no unredacted text is
 * stored while the service is down.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { hang, json, type Responder, startFaultServer, status } from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';

const config = (presidio: string) => `
server: {port: 0}
log: {level: debug}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 1000000}
    privacy:
      presidio: {url: "${presidio}", entities: [PERSON], timeout_ms: 4000}
`;

const canary = 'Zephyrine';

const findsCanary: Responder = (request, response) => {
  const { text } = JSON.parse(request.body) as { text: string };
  const start = Array.from(text.slice(0, text.indexOf(canary))).length;
  const find = { entity_type: 'PERSON', start, end: start + canary.length, score: 0.85 };
  json(text.includes(canary) ? [find] : [])(request, response);
};

describe('a redaction service', () => {
  it('removes names from queries and comments, and only hashes of texts are stored while the service fails or hangs', async () => {
    const presidio = await startFaultServer(findsCanary);
    onTestFinished(() => presidio.close());
    const { serve, query } = await anInstallation({ 'recalld.yaml': config(presidio.url) });
    const daemon = await serve();
    const sendBoth = async (name: string, count: number): Promise<void> => {
      const ids = Array.from({ length: count }, (_, i) => `${name}-${i}`);
      const queries = ids.map((id) => ({
        id,
        pipeline: 'docs',
        text: `😀 where is ${canary} now`,
        results: [],
      }));
      const accepted = { status: 202, body: { accepted: count, rejected: [] } };
      expect(await daemon.post('/v1/queries', queries)).toMatchObject(accepted);
      const feedback = ids.map((id) => ({
        query_id: id,
        pipeline: 'docs',
        kind: 'thumb',
        value: 'up',
        comment: `${canary} helped`,
      }));
      expect(await daemon.post('/v1/feedback', feedback)).toMatchObject(accepted);
    };
    await sendBoth('up', 20);
    presidio.respondWith(status(500));
    await sendBoth('failing', 3);
    presidio.respondWith(hang());
    await sendBoth('hanging', 30);

    const rows = await query(
      `select split_part(q.id, '-', 1) as name, q.text, q.text_hash is not null as hashed, f.comment, count(*)::integer as count
         from live_queries q join feedback f on f.query_id = q.id group by 1, 2, 3, 4 order by 1`,
    );
    expect(rows).toEqual([
      { name: 'failing', text: null, hashed: true, comment: null, count: 3 },
      { name: 'hanging', text: null, hashed: true, comment: null, count: 30 },
      { name: 'up', text: '😀 where is [PERSON] now', hashed: false, comment: '[PERSON] helped', count: 20 },
    ]);
    const metrics = await daemon.metrics();
    const counted = (outcome: string): number =>
      Number(
        new RegExp(`redaction_service_total\\{pipeline="docs",outcome="${outcome}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0,
      );
    expect(counted('ok')).toBe(40);
    expect(counted('failed')).toBe(6);
    expect(counted('timeout')).toBe(60);
    const { code, stderr } = await daemon.stop();
    expect(code).toBe(0);
    expect(stderr).toContain('storing only hashes of texts');
    expect(stderr + metrics).not.toContain(canary);
  });
});
