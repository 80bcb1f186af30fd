/** What people may do on the pages, with scope admin: pin a baseline, note something, accept mended labels. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Sessions } from '../../access/session.ts';
import { secure } from '../../console/http/defences.ts';
import { acceptFormsOf, fieldsOf, ownPath, valuesOf } from '../../console/http/forms.ts';
import { frameOf, sendPage } from '../../console/http/visit.ts';
import { address, labelsPath } from '../../console/links.ts';
import { annotationSubjects } from '../../deployments/annotations.ts';
import { LONGEST_NOTE } from '../../deployments/notes.tsx';
import { RecalldError } from '../../errors.ts';
import { LabelsPage, type LabelsPageData } from '../../golden/pages/labels-page.tsx';
import type { Acceptance } from '../../golden/rules/labels.ts';
import { parseBoundedJson } from '../../text/json.ts';
import type { ConsoleDeps } from './deps.ts';

const LONGEST_REASON = 500;

export function addActions(app: FastifyInstance, deps: ConsoleDeps, sessions: Sessions): void {
  const { clock, site } = deps;

  void app.register(async (scope) => {
    await acceptFormsOf(scope, site.publicUrl, async (request, reply) => {
      const visitor = await sessions.visitorOf(request, reply);
      if (visitor.canAct) return visitor;
      throw new RecalldError(
        'key_lacks_scope',
        `The API key "${visitor.keyName ?? ''}" has no scope admin, which this needs.`,
      );
    });

    scope.post('/actions/pin-baseline', async (request, reply) => {
      const { run_id: runId = '', note = '', back } = fieldsOf(request);
      await deps.pinBaseline(runId, note.trim() === '' ? null : note.trim().slice(0, LONGEST_REASON));
      return goBack(reply, back, 'pinned');
    });

    scope.post('/actions/annotate', async (request, reply) => {
      const { subject: kind, id = '', text = '', back } = fieldsOf(request);
      const subject = annotationSubjects.find((one) => one === kind) ?? 'run';
      const words = text.trim().slice(0, LONGEST_NOTE);
      if (words === '') throw new RecalldError('body_unreadable', 'The note has no words.');
      const note = {
        subject,
        subjectId: id,
        text: words,
        author: request.visitor?.keyName ?? null,
        createdAt: clock.now(),
      };
      if (!(await deps.annotations.add(note))) {
        throw subject === 'run'
          ? new RecalldError('run_unknown', `There is no golden run ${id}.`)
          : new RecalldError('deployment_unknown', `There is no deployment ${id}.`);
      }
      return goBack(reply, back, 'noted');
    });

    scope.post('/pipelines/:pipeline/golden/:set/labels', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const found = await deps.findLabelFixes(pipeline, set);
      const frame = frameOf(request, request.visitor, clock.now(), site.version);
      const data = { ...(await readLabelsPage(deps, pipeline, set)), found };
      return sendPage(reply, LabelsPage({ frame, data }));
    });

    scope.post('/pipelines/:pipeline/golden/:set/labels/accept', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const acceptances = valuesOf(request, 'accept').map(readAcceptance);
      if (acceptances.length === 0)
        throw new RecalldError(
          'body_unreadable',
          'No proposal was chosen; go back and tick those that you accept.',
        );
      await deps.acceptLabelFixes(pipeline, set, Number(fieldsOf(request)['version']), acceptances);
      return goBack(reply, labelsPath(pipeline, set), 'mended');
    });
  });
}

/** @throws RecalldError pipeline_unknown */
export async function readLabelsPage(
  deps: ConsoleDeps,
  pipeline: string,
  goldenSet: string,
): Promise<LabelsPageData> {
  deps.assertPipeline(pipeline);
  const [run] = await deps.runs.list({ pipeline, goldenSet, status: 'completed', limit: 1 });
  const known =
    run === undefined
      ? null
      : { runId: run.id, labels: await deps.runs.staleLabels(run.id), gap: run.labels.gap };
  return { pipeline, goldenSet, known, found: null };
}

/** @throws RecalldError body_unreadable for what no form of ours holds */
function readAcceptance(text: string): Acceptance {
  try {
    const [queryId, from, to] = parseBoundedJson(text) as unknown[];
    if (typeof queryId === 'string' && typeof from === 'string' && Array.isArray(to))
      return { queryId, from, to: to.map(String) };
  } catch {
    // Said below.
  }
  throw new RecalldError('body_unreadable', 'A chosen proposal cannot be read; look for proposals again.');
}

function goBack(reply: FastifyReply, back: string | undefined, done: string): FastifyReply {
  secure(reply);
  const [path = '/', query = ''] = ownPath(back).split('?');
  return reply.redirect(address(path, { ...Object.fromEntries(new URLSearchParams(query)), done }), 303);
}
