#!/usr/bin/env bash
# Starts compose.yaml, logs in, checks that Prometheus scrapes the crawl and that Grafana reads from Prometheus, and
# removes everything again. To be run before a release: deploy/smoke.sh [docker|podman]
set -euo pipefail
cd "$(dirname "$0")"
tool=${1:-docker}
jar=$(mktemp)

compose() { "$tool" compose --project-name gossamer-smoke "$@"; }
clean_up() { compose down --volumes; rm -f "$jar"; }
fail() { echo "smoke test: $1" >&2; exit 1; }
get() { curl --silent --show-error --fail "$@"; }
is_scraped() { get 'http://localhost:9090/api/v1/query?query=up' | grep --quiet '"1"\]'; }

trap clean_up EXIT
compose up --build --detach --wait
first=$(curl --silent --output /dev/null --write-out '%{http_code} %{redirect_url}' http://localhost:8470/)
[ "$first" = "303 http://localhost:8470/login" ] || fail "/ does not lead to the login: $first"
token=$(compose exec -T gossamer cat /crawl/data/service.token)
get --cookie-jar "$jar" --output /dev/null --data-urlencode "token=$token" http://localhost:8470/login || fail "login"
get --cookie "$jar" --output /dev/null http://localhost:8470/status || fail "the session is not accepted"
for _ in $(seq 60); do is_scraped && break; sleep 1; done
is_scraped || fail "Prometheus does not reach the crawl"
grafana=http://admin:admin@localhost:3000
get "$grafana/api/datasources/uid/prometheus/health" | grep --quiet '"OK"' || fail "Grafana does not reach Prometheus"
get --output /dev/null "$grafana/api/dashboards/uid/gossamer" || fail "Grafana has no dashboard"
echo "smoke test: passed"
