# syntax=docker/dockerfile:1
# A small image that runs as nobody in particular. Give it a configuration and a volume:
#   docker run -v ./etc:/etc/redeliverd:ro -v redeliverd:/var/lib/redeliverd -p 8080:8080 redeliverd
# The configuration's receiver.listen must then be "0.0.0.0:8080" and its database.url
# "sqlite:/var/lib/redeliverd/redeliverd.db", or postgres://...

FROM rust:1-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends cmake g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release && cp target/release/redeliverd /redeliverd

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/redeliverd redeliverd \
    && install -d -o redeliverd -g redeliverd -m 0700 /var/lib/redeliverd
COPY --from=build /redeliverd /usr/bin/redeliverd
ENV REDELIVERD_CONFIG=/etc/redeliverd/redeliverd.toml
USER redeliverd
VOLUME ["/var/lib/redeliverd"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=10s CMD ["redeliverd", "healthcheck"]
# Exec form: the signal reaches the daemon, which finishes what is in hand.
ENTRYPOINT ["redeliverd"]
CMD ["serve"]
