/** `recalld diagnose`: likely causes of firing alerts. */
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { printJson, printLine, withConfig } from '../../../cli/output.ts';
import { systemClock } from '../../../core/system-clock.ts';
import type { Content } from '../../../report/model/content.ts';
import { paragraph, strong, time } from '../../../report/model/show.ts';
import { terminalText } from '../../../report/terminal.ts';
import { type PipelineDiagnosis, readDiagnoses } from '../diagnose-pipeline.ts';
import { pipelineDiagnosisJson } from '../incident-schema.ts';
import type { Diagnosis } from '../rules/incident.ts';
import { findings, others } from './pages/diagnosis.ts';

export function diagnoseCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld diagnose --pipeline support-docs')
    .option('--pipeline <name>', 'only this pipeline')
    .action(async ({ pipeline = null, config, json }) => {
      const settings = commandSettings(config, signal);
      if (pipeline !== null) assertConfiguredPipeline(settings.config, pipeline);
      const found = await withCommandStore(settings, (store) => readDiagnoses(store, pipeline));
      if (json === true) printJson(found.map(pipelineDiagnosisJson));
      else printLine(found.map((one) => terminalText(contentOf(one), systemClock.now())).join('\n\n'));
      if (found.some(({ now }) => now !== null)) process.exitCode = EXIT_CHECK_FAILED;
    });
}

function contentOf({ pipeline, latest, now }: PipelineDiagnosis): Content {
  if (now !== null) {
    const since = latest !== null && latest.closedAt === null && [' since ', time(latest.openedAt)];
    return [paragraph(strong(pipeline), ': alerts firing', since, '.'), resultOf(now)];
  }
  if (latest === null) return paragraph(strong(pipeline), ': no alerts firing.');
  const until = latest.closedAt !== null && [' to ', time(latest.closedAt)];
  return [
    paragraph(strong(pipeline), ': no alerts firing. Latest incident: ', time(latest.openedAt), until, '.'),
    latest.timeline.map(({ name, worst }) => paragraph(`${name}, worst value: ${worst.text}`)),
    resultOf(latest),
  ];
}

function resultOf(diagnosis: Diagnosis): Content {
  const { alerts, runId, referenceRunId } = diagnosis;
  const compare = referenceRunId === null ? '' : `, recalld runs compare ${referenceRunId} ${runId ?? ''}`;
  return [
    findings(diagnosis),
    paragraph(`Firing: ${alerts.join('; ')}`),
    runId !== null && paragraph(`Next: recalld runs show ${runId}${compare}`),
    others(diagnosis),
  ];
}
