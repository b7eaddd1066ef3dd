# syntax=docker/dockerfile:1
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The commit, for what has no repository around it: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=""
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X bstein.dev/hux/hux/api.linkedCommit=${COMMIT}" -o /hux ./router \
 && mkdir -p /empty/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /hux /usr/local/bin/hux
COPY --from=build --chown=65532:65532 /empty/data /var/lib/hux
# "container" tells hux check that the deployment must say which image this is.
ENV container=docker HUX_LISTEN=:8080 HUX_DATA=/var/lib/hux
# What must last goes to the volume. Long request bodies without a length pass through /tmp (temp_dir): where the root file
# system is read-only mount a tmpfs or a volume there too, on another disk than the first.
VOLUME /var/lib/hux
EXPOSE 8080
USER 65532:65532
# docker stop waits 10 s before it kills, and hux may take longer: docker run --stop-timeout 40
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s CMD ["/usr/local/bin/hux", "healthz"]
ENTRYPOINT ["/usr/local/bin/hux"]
CMD ["serve"]
