/** `recalld mcp`: serves tools over stdin and stdout, using the Model Context Protocol. */
import { once } from 'node:events';
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { version } from '../../app/version.ts';
import { createMcpServer } from '../tools.ts';

const HELP = `
An assistant starts this command. Add it to the assistant's config:
  {"mcpServers": {"recalld": {"command": "recalld", "args": ["mcp", "--config", "/etc/recalld.yaml"]}}}
The daemon serves the same tools at POST /v1/mcp for API keys with the read scope.`;

export function mcpCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return command
    .option('--config <file>', 'config file (default: recalld.yaml if it exists)')
    .addHelpText('after', '\nExample:\n  recalld mcp --config recalld.yaml')
    .addHelpText('after', HELP)
    .action(async ({ config: file }: { readonly config?: string }) => {
      const settings = commandSettings(file, signal);
      await withCommandStore(settings, async (store) => {
        const server = serveStdio(() => createMcpServer(store, version, true));
        try {
          await once(process.stdin, 'close', { signal });
        } finally {
          await server.close();
        }
      });
    });
}
