/** The proxy that stands between recalld and a service, where the config says that there is one. */
import { type AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { getProxyForUrl } from 'proxy-from-env';

/** As it stands in the config: an address, or `environment` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export type ProxySetting = string;

/** @param url of the service, of which the scheme, the host and the port count; null for no proxy */
export function proxyFor(setting: ProxySetting | undefined, url: string): URL | null {
  const address = setting === 'environment' ? getProxyForUrl(url) : (setting ?? '');
  return address === '' ? null : new URL(address);
}

/** Connections to one service: https goes through a proxy by CONNECT, so that it sees no more than the host. */
export function createAgent(isSecure: boolean, proxy: URL | null, options: AgentOptions): HttpAgent | HttpsAgent {
  if (proxy === null) return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  return isSecure ? new HttpsProxyAgent(proxy, options) : new HttpProxyAgent(proxy, options);
}
