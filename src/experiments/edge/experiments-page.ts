import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import type { Content, PageContent } from '../../report/model/content.ts';
import { documentId, empty, section, table, value, verbatim } from '../../report/model/show.ts';
import { keyOf } from '../context.ts';
import { readShadow, readVariants } from '../read-reports.ts';
import type { ShadowReport } from '../report.ts';
import type { ChangedAnswer } from '../sql/shadow-answers.ts';
import { shadowSection, variantsSection } from './shown.ts';

type ExperimentsPageData = Awaited<ReturnType<typeof readExperimentsPage>>;

const LISTED = 10;

export async function readExperimentsPage(context: Context, name: string, showsText: boolean) {
  const shadows: { readonly report: ShadowReport; readonly changed: readonly ChangedAnswer[] }[] = [];
  for (const pipeline of context.pipelines.filter((one) => one.name === name)) {
    for (const shadow of pipeline.shadows) {
      const report = await readShadow(context, pipeline, shadow);
      const since = new Date(context.clock.now().getTime() - report.live.days * DAY_MS);
      const changed = showsText
        ? await context.db.experiments.answers.mostChanged(keyOf(pipeline, shadow), since, LISTED)
        : [];
      shadows.push({ report, changed });
    }
  }
  const plan = context.variantPlans.find(({ pipeline }) => pipeline === name);
  // `variants` is null if the pipeline has no variants.
  return { pipeline: name, shadows, variants: plan === undefined ? null : await readVariants(context, plan) };
}

export function experimentsPage({ pipeline, shadows, variants }: ExperimentsPageData): PageContent {
  return {
    title: 'Experiments',
    pipeline,
    section: 'experiments',
    hasRange: false,
    content: [
      shadows.length === 0 &&
        variants === null &&
        section(
          'experiments',
          'Experiments',
          { lead: 'Is another retriever, or a variant of the service, better?' },
          empty(
            'This pipeline has neither shadows nor variants.',
            'In the pipeline config, add `shadow` with a name and a retriever, or `variants` with arms.',
          ),
        ),
      shadows.map(({ report, changed: differing }) => [shadowSection(report), changed(report.name, differing)]),
      variants !== null && variantsSection(variants),
    ],
  };
}

function changed(shadow: string, answers: readonly ChangedAnswer[]): Content {
  if (answers.length === 0) return null;
  return section(
    `changed-${shadow}`,
    'Live queries whose results differ most',
    {
      lead: 'For the queries with the least similar results: the top documents that users got, and the top documents that the shadow returned.',
    },
    table('Result lists that differ most', answers, [
      ['Query', ({ text }) => verbatim(text)],
      ['Overlap', ({ overlap }) => value(overlap, 'score'), 'number'],
      ['Users got', ({ shownIds }) => ids(shownIds)],
      ['Shadow', ({ documentIds }) => ids(documentIds)],
    ]),
  );
}

const SHOWN_IDS = 3;

function ids(all: readonly string[]): Content {
  const rest = all.length - SHOWN_IDS;
  if (all.length === 0) return 'nothing';
  return [documentId(all.slice(0, SHOWN_IDS).join(', ')), rest > 0 && ` and ${rest} more`];
}
