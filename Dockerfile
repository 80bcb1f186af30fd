# recalld for a fleet, without the embedded PostgreSQL.
# A release pins the base image by the digest of the tag.
ARG BASE=node:24.21.0-bookworm-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image needs no install scripts.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
# Keeps the optional package that `recalld dashboards` needs.
RUN npm run --silent build \
  && mv node_modules/@grafana node_modules/tslib /tmp \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && rm -rf node_modules/@grafana node_modules/tslib \
  && mv /tmp/@grafana /tmp/tslib node_modules/

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="recalld" \
  org.opencontainers.image.description="Watches the retrieval quality of production RAG: golden-set reruns, live-query drift, Prometheus metrics and alerts." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY migrations ./migrations
COPY deploy/postgres ./deploy/postgres
COPY src/demo/data ./src/demo/data
COPY docs/runbooks ./docs/runbooks
COPY src/report/console/assets ./src/console/assets
# A numeric id, so that Kubernetes can verify that the user is not root.
USER 1000:1000
EXPOSE 8321
# Every role serves /livez on this port, unless server.metrics_port is set.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8321/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# tini forwards signals and reaps children; recalld stops cleanly on SIGTERM.
ENTRYPOINT ["/usr/bin/tini", "--", "node", "dist/cli/main.js"]
CMD ["serve", "--config", "/etc/recalld/recalld.yaml"]
