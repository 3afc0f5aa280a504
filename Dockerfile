# Carrel with its embedded PostgreSQL, as an ordinary user. Volumes: /data for everything the server writes, /books for the books, read-only.
FROM node:24-bookworm-slim AS packages
WORKDIR /carrel
COPY package.json package-lock.json ./
# Also installs PostgreSQL and the Node that the server is tested with.
RUN npm ci --omit=dev --no-audit --no-fund

# The web interface; its packages stay behind in this stage.
FROM node:24-bookworm-slim AS web
WORKDIR /carrel/web
COPY web/package.json web/package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY web ./
RUN npm run build -- --outDir built

FROM node:24-bookworm-slim
# unshare and setpriv (util-linux) confine the processes that run plugins; they are in the base image.
ENV NODE_ENV=production \
    CARREL_HOST=0.0.0.0 \
    CARREL_PORT=8085 \
    CARREL_DATA_DIR=/data \
    CARREL_LIBRARY=/books \
    CARREL_LOG_FORMAT=json
WORKDIR /carrel
COPY --from=packages /carrel/node_modules ./node_modules
COPY package.json package-lock.json LICENSE ./
COPY api ./api
COPY core ./core
COPY migrations ./migrations
COPY plugin-sdk ./plugin-sdk
COPY plugins ./plugins
COPY workers ./workers
COPY --from=web /carrel/web/built ./web/built
# PostgreSQL refuses to run as root, and the server needs no rights: "node" is a user of the base image. A new volume takes the owner of /data.
# With --user, use an id that /etc/passwd has: PostgreSQL looks it up.
RUN mkdir /data /books && chown node:node /data
USER node
VOLUME ["/data"]
EXPOSE 8085
# A first start has 150 seconds to make the database.
HEALTHCHECK --interval=30s --timeout=10s --retries=5 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.CARREL_PORT}/health`).then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "api/launch.mjs", "api/main.ts"]
