/** Where telemetry belongs that came to an address that does not exist. */

/** What to set, as sentences behind the one that names the address; empty when the address is not one of telemetry. */
export function fixOfAddress(method: string, path: string): string {
  const signal = /\/v1\/(traces|logs|metrics|profiles)\/?$|\/v1development\/(profiles)\/?$/.exec(path);
  const [, stable, development] = signal ?? [];
  const name = stable ?? development;
  if (name === 'metrics' || name === 'profiles') {
    const none = name === 'metrics' ? ' Set OTEL_METRICS_EXPORTER=none, or send metrics elsewhere.' : '';
    return ` recalld takes traces and logs, and no ${name}.${none}`;
  }
  if (name !== undefined && path === `/v1/${name}`) return method === 'POST' ? '' : ` /v1/${name} takes POST.`;
  if (name !== undefined) {
    return ` OTLP is taken at /v1/${name}: set OTEL_EXPORTER_OTLP_ENDPOINT to the address without a path, or OTEL_EXPORTER_OTLP_${name.toUpperCase()}_ENDPOINT to one that ends in /v1/${name}.`;
  }
  if (path.startsWith('/api/public/'))
    return ' recalld does not have the API of Langfuse; let its SDK export OTLP to /v1/traces.';
  return '';
}
