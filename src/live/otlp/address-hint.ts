/**
 * Returns text that says what to configure and can be appended to an error message. The text is empty if the path is
 * not a telemetry path.
 */
export function addressHint(method: string, path: string): string {
  const signal = /\/v1\/(traces|logs|metrics|profiles)\/?$|\/v1development\/(profiles)\/?$/.exec(path);
  const [, stable, development] = signal ?? [];
  const name = stable ?? development;
  if (name === 'metrics' || name === 'profiles') {
    const none = name === 'metrics' ? ' Set OTEL_METRICS_EXPORTER=none, or send metrics elsewhere.' : '';
    return ` recalld accepts traces and logs, but no ${name}.${none}`;
  }
  if (name !== undefined && path === `/v1/${name}`) return method === 'POST' ? '' : ` /v1/${name} accepts POST only.`;
  if (name !== undefined) {
    return ` recalld accepts OTLP at /v1/${name}: set OTEL_EXPORTER_OTLP_ENDPOINT to the address without a path, or OTEL_EXPORTER_OTLP_${name.toUpperCase()}_ENDPOINT to an address that ends in /v1/${name}.`;
  }
  if (path.startsWith('/api/public/'))
    return ' recalld does not implement the Langfuse API; let the Langfuse SDK export OTLP to /v1/traces.';
  return '';
}
