/** Where a manifest comes from: a file, a program, an endpoint, a query. */
import { RecalldError } from '../../errors.ts';
import { createServiceSettings } from '../../outbound/service-settings.ts';
import type { ManifestConfig } from '../config.ts';
import { readCommand } from './command.ts';
import { readFile } from './file.ts';
import { readPages } from './http.ts';
import type { ManifestSource } from './source.ts';
import { readQuery } from './sql.ts';

/**
 * Nothing is opened before it is read.
 *
 * @param configField where the config describes it: `pipelines[0].index.manifest`
 * @throws RecalldError config_invalid for an address or a TLS file that cannot be used
 */
export function createManifestSource(config: ManifestConfig, configField: string): ManifestSource {
  switch (config.kind) {
    case 'file':
      return (from) => readFile(config.path, from);
    case 'command':
      return (_, signal) => readCommand(config, configField, signal);
    case 'http': {
      const settings = createServiceSettings(config, { service: 'The manifest', configField });
      return (from, signal) => readPages(settings, from, signal);
    }
    case 'sql':
      if (!/^postgres(ql)?:\/\//.test(config.url)) {
        throw new RecalldError('config_invalid', `${configField}.url: this is not a postgres:// URL.`);
      }
      return (_, signal) => readQuery(config, configField, signal);
  }
}
