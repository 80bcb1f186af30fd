/** What changed in pipelines, told by people or seen by recalld. */

import { PipelineChoice } from '../console/components/navigation.tsx';
import { Empty, Section } from '../console/components/section.tsx';
import { within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { DeploymentTable } from './deployment-table.tsx';
import type { Annotation } from './deployments.ts';
import type { Deployment } from './rules/deployment.ts';

export interface DeploymentsPageData {
  /** Newest first. */
  readonly deployments: readonly Deployment[];
  readonly notes: ReadonlyMap<string, readonly Annotation[]>;
  readonly pipelines: readonly string[];
  /** Null: all of them. */
  readonly pipeline: string | null;
}

export function DeploymentsPage({ frame, data }: { readonly frame: Frame; readonly data: DeploymentsPageData }) {
  const { deployments, notes, pipelines, pipeline } = data;
  const { visitor, range } = frame;
  return (
    <Page frame={frame} title="Deployments" section="deployments" {...(pipeline === null ? {} : { pipeline })}>
      <PipelineChoice frame={frame} path="/deployments" pipelines={pipelines} chosen={pipeline} />
      <Section
        id="deployments"
        title="Changes"
        lead="Newest first. recalld sees by itself when the index or the embedding model changes."
      >
        {deployments.length === 0 ? (
          <Empty
            why="Nothing was deployed in this time that recalld was told of or saw."
            todo={
              <>
                Choose a longer time, or have your deploy step call{' '}
                <code>recalld deployments add --pipeline P --kind retriever --version V</code>.
              </>
            }
          />
        ) : (
          <DeploymentTable
            caption="Deployments, newest first"
            deployments={deployments}
            notes={notes}
            range={range}
            withPipeline={pipeline === null}
            formToken={visitor?.canAct === true ? visitor.formToken : null}
            back={within(range, '/deployments', { pipeline })}
          />
        )}
      </Section>
    </Page>
  );
}
