# Takeback as an image. Your takeback.config.ts and what it imports are expected in /app, data go to /data.
FROM node:20-bookworm-slim AS build
WORKDIR /takeback
COPY package.json package-lock.json ./
COPY bin bin
# Only the binary of Bun is needed, not the packages that it comes in.
RUN npm install --omit=dev --ignore-scripts \
 && node -e "import('/takeback/bin/find-bun.js').then(({ findBun }) => fs.copyFileSync(findBun(), '/usr/local/bin/bun'))" \
 && chmod 755 /usr/local/bin/bun \
 && rm -rf node_modules/bun node_modules/@oven node_modules/.bin
COPY src src
COPY build/bundle.js build/bundle.js
# One file with bytecode starts in a third of the time.
RUN bun build/bundle.js && rm -r build

# The web console is built by packages that the server does not need.
FROM node:20-bookworm-slim AS console
WORKDIR /takeback
COPY package.json package-lock.json ./
COPY bin bin
RUN npm install --ignore-scripts
COPY build build
COPY src src
COPY client client
COPY console console
RUN node -e "import('/takeback/bin/find-bun.js').then(({ findBun }) => child_process.execFileSync(findBun(), ['build/console.ts'], { stdio: 'inherit' }))"

FROM debian:bookworm-slim
COPY --from=build /usr/local/bin/bun /usr/local/bin/bun
COPY --from=build /takeback /takeback
COPY --from=console /takeback/console/dist /takeback/console/dist
RUN useradd --uid 1000 --create-home takeback \
 && install -d -o takeback -g takeback /app /data \
 && printf '#!/bin/sh\nexec bun /takeback/bin/takeback.js "$@"\n' > /usr/local/bin/takeback \
 && chmod 755 /usr/local/bin/takeback
USER takeback
WORKDIR /app
ENV HOST=0.0.0.0 PORT=3000 TAKEBACK_LOG=json TAKEBACK_DATABASE=sqlite:/data/takeback.db TAKEBACK_OUTBOX=/data/outbox
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s CMD ["bun", "-e", "const { ok } = await fetch(`http://127.0.0.1:${process.env.PORT}/api/health`, { headers: { Accept: 'application/json' } }); process.exit(ok ? 0 : 1)"]
# The script replaces itself with Bun, which gets SIGTERM, drains and ends.
ENTRYPOINT ["takeback"]
CMD ["serve"]
