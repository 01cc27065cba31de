"""What is in deploy/ fits the service: metrics, labels and options that are named there exist, and each file is found
good by the program that reads it."""

import http.client
import importlib.resources
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from packaging.utils import canonicalize_name

from gossamer.config.load import make_config, with_underscores
from gossamer.crawl.run.signals import GRACE_SECONDS
from gossamer.service.metrics import METRICS
from tests.debian import unpacked
from tests.dependencies import needed_by
from tests.integration.crawl_process import Command, scene, small_web, wait_until
from tests.integration.test_shared_crawl import workers
from tests.postgres_server import PostgresServer
from tests.redis_server import running_redis, running_sentinels
from tests.s3_server import S3Server
from tests.service.service_process import Service, lasting_port
from tests.test_docs import options_of

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
GRAFANA = DEPLOY / "grafana"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
ROOT = DEPLOY.parent
BY_NAME = {metric.name: metric for metric in METRICS}
ENDINGS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
SERIES = {metric.name + ending: metric for metric in METRICS for ending in ENDINGS[metric.kind]}


def promtool(*arguments: str | Path) -> str:
    """What it says. Whatever it finds wrong fails the test."""
    program = unpacked("prometheus") / "usr" / "bin" / "promtool"
    done = subprocess.run([program, *arguments], cwd=DEPLOY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


DASHBOARDS = {
    path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((GRAFANA / "dashboards").iterdir())
}


def expressions_of_dashboards() -> list[str]:
    panels = [panel for dashboard in DASHBOARDS.values() for panel in dashboard["panels"]]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def alert_rules() -> list[dict[str, str]]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions_of_alerts() -> list[str]:
    return [rule["expr"] for rule in alert_rules()]


def selected(expression: str) -> Iterator[tuple[str, str]]:
    """(series, what stands in its braces) of all that an expression reads."""
    for found in re.finditer(r"\b(gossamer_\w+)(?:\{([^}]*)\})?", expression):
        yield found[1], found[2] or ""


ALL = [*expressions_of_dashboards(), *expressions_of_alerts()]


def test_every_series_and_label_that_is_read_exists() -> None:
    assert len(ALL) > 50
    for expression in ALL:
        check_names(expression)


def check_names(expression: str) -> None:
    assert {name for name, _ in selected(expression)} <= SERIES.keys()
    for name, braces in selected(expression):
        metric = SERIES[name]
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', braces):
            if label in ("instance", "job"):
                continue
            assert label == metric.label, (name, label)
            wanted = value.split("|") if "~" in operator else [value]
            assert set(wanted) <= set(metric.values), (name, value)
    labels = {"instance", "job", "le"} | {SERIES[name].label for name, _ in selected(expression)}
    for kept in re.findall(r"\bby \(([^)]*)\)", expression):
        assert {label.strip() for label in kept.split(",")} <= labels


def test_every_metric_is_on_a_dashboard() -> None:
    shown = {SERIES[name].name for expression in expressions_of_dashboards() for name, _ in selected(expression)}

    assert [metric.name for metric in METRICS if metric.name not in shown] == []


def test_prometheus_can_read_every_expression_of_the_dashboards(tmp_path: Path) -> None:
    filled = [e.replace("$__rate_interval", "5m").replace("$instance", ".*") for e in expressions_of_dashboards()]
    assert not any("$" in expression for expression in filled)
    rules = [{"record": f"shown:{number}", "expr": expression} for number, expression in enumerate(filled)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))

    assert f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "rules.yml")


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_lie_beside_each_other_and_have_numbers_of_their_own(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    taken: set[tuple[int, int]] = set()

    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_alert_rules_are_good_and_do_what_their_tests_say() -> None:
    assert f"{len(expressions_of_alerts())} rules found" in promtool("check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    tests = yaml.safe_load((DEPLOY / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    firing = {
        found["alertname"] for test in tests for found in test.get("alert_rule_test", []) if found.get("exp_alerts")
    }
    for samples in (found for test in tests for found in test.get("promql_expr_test", [])):
        firing |= set(re.findall(r'alertname="(\w+)"', samples["expr"] + str(samples["exp_samples"])))

    assert {rule["alert"] for rule in alert_rules()} == firing


@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus-container.yml", "prometheus-cluster.yml"])
def test_the_scrape_configuration_is_good(name: str) -> None:
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", name)


@pytest.mark.service
def test_prometheus_reads_the_metrics_of_the_container_configuration_without_a_token(tmp_path: Path) -> None:
    text = (DEPLOY / "gossamer.toml").read_text(encoding="utf-8")
    metrics = make_config(with_underscores(tomllib.loads(text)), {}).service.metrics_address
    scraping = yaml.safe_load((DEPLOY / "prometheus-container.yml").read_text(encoding="utf-8"))
    (target,) = scraping["scrape_configs"][0]["static_configs"][0]["targets"]
    assert metrics is not None and metrics[0] == "0.0.0.0"
    assert target == f"gossamer:{metrics[1]}" and "gossamer" in COMPOSE["services"]

    (tmp_path / "gossamer.toml").write_text(text.replace(str(metrics[1]), "0"))
    options = ["--config", tmp_path / "gossamer.toml", "--host", "0.0.0.0"]
    with Service(tmp_path / "crawl", *options) as service:
        scraping["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{service.metrics_port}"]
        scraping |= {"global": {"scrape_interval": "1s"}, "rule_files": [str(DEPLOY / "alerts.yml")]}
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(scraping))
        with prometheus(tmp_path) as port:
            wait_until(lambda: value_of("gossamer_uptime_seconds", port) is not None, "a scrape")
            assert value_of("up", port) == "1"


@pytest.mark.service
def test_a_worker_exports_every_series_that_alerts_read(
    tmp_path: Path, postgres_server: PostgresServer, s3: S3Server
) -> None:
    web = small_web(seed=33, hosts=16, pages=200, fault_rate=0.0)
    url, port = postgres_server.create_database(), lasting_port()
    options = ["--store", url, "--unsafe-store", "--blobs", s3.url("crawls/alerts"), "--keep-fresh", "--delay", 0.5]
    with running_redis(tmp_path / "redis") as cache:
        options += ["--cache", cache.url]
        with scene(tmp_path, web, options) as stage, workers(stage, url, 0):
            join = ["worker", "--store", url, "--unsafe-store", "--dir", stage.dir, "--metrics", f"127.0.0.1:{port}"]
            with Command(*join) as worker:
                wait_until(lambda: metric(port, 'gossamer_partitions{owner="self"}') or not worker.runs, "partitions")
                wait_until(lambda: not metrics_at(port)['gossamer_partitions{owner="nobody"}'], "all to be owned")
                found = metrics_at(port)

                assert found["gossamer_living_workers"] == 2 and found["gossamer_worker_deaths_total"] == 0
                assert 0 < found["gossamer_lease_seconds"] <= 10
                exported = {series.partition("{")[0] for series in found}
                wanted = {series for expression in expressions_of_alerts() for series, _ in selected(expression)}
                assert wanted - {"gossamer_errors_total"} <= exported  # it has a series for each error that occurred

                worker.kill()
            with Command(*join) as worker:
                wait_until(lambda: metric(port, "gossamer_worker_deaths_total") or not worker.runs, "its death")
                assert metric(port, "gossamer_worker_deaths_total") == 1


def metrics_at(port: int) -> dict[str, float]:
    """All samples by their names with labels; none if nobody listens yet."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except ConnectionRefusedError:
            return {}
    samples = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def metric(port: int, name: str) -> float:
    return metrics_at(port).get(name, 0.0)


@contextmanager
def prometheus(folder: Path) -> Iterator[int]:
    """A Prometheus with the configuration in this folder. Its port."""
    port = lasting_port()
    command = [
        str(unpacked("prometheus") / "usr" / "bin" / "prometheus"),
        *(f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"),
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield port
        finally:
            process.kill()


def value_of(query: str, port: int) -> str | None:
    """The value of an instant query; None if there is none yet."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        try:
            connection.request("GET", f"/api/v1/query?query={query}")
            answer = connection.getresponse()
        except ConnectionRefusedError:
            return None
        found = json.loads(answer.read())["data"]["result"] if answer.status == 200 else []
        return found[0]["value"][1] if found else None


# --- systemd ---------------------------------------------------------------------------------------------

UNIT, WORKER_UNIT = "gossamer.service", "gossamer-worker@.service"


def unit_text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [UNIT, WORKER_UNIT])
def test_systemd_finds_the_unit_good_and_well_shut_in(name: str, tmp_path: Path) -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit_text(name), flags=re.MULTILINE))
    assert {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "CapabilityBoundingSet": "",
    }.items() <= settings.items()
    if shutil.which("systemd-analyze") is None:
        return  # nobody to ask; the rest is what it says
    unit = tmp_path / name
    unit.write_text(unit_text(name).replace("/opt/gossamer/bin/gossamer", sys.executable))

    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    assert rated.returncode == 0, rated.stdout


def test_the_unit_and_the_container_start_the_service_with_options_that_exist() -> None:
    started = re.findall(r"^ExecStart=\S+ (.*)$", unit_text(UNIT), flags=re.MULTILINE)
    entry = re.findall(r"^ENTRYPOINT (.*)$", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)
    command = COMPOSE["services"]["gossamer"]["command"]

    assert len(started) == len(entry) == 1
    for words in (started[0].split(), [*json.loads(entry[0])[1:], *command]):
        assert words[0] == "serve"
        assert {word for word in words if word.startswith("--")} <= options_of("serve")


def test_a_worker_under_systemd_is_drained_when_it_is_stopped() -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit_text(WORKER_UNIT), flags=re.MULTILINE))
    words = settings["ExecStart"].split()[1:]

    assert words[0] == "worker"
    assert {word for word in words if word.startswith("--")} <= options_of("worker")
    assert (settings["KillMode"], settings["KillSignal"], settings["Restart"]) == ("mixed", "SIGTERM", "on-failure")
    assert int(settings["TimeoutStopSec"]) > GRACE_SECONDS


# --- the container ---------------------------------------------------------------------------------------


def test_the_container_is_made_of_a_public_image_and_of_files_that_exist() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")

    images = re.findall(r"^FROM (\S+)", text, flags=re.MULTILINE)
    assert images and all(re.fullmatch(r"python:3\.\d+-slim", image) for image in images)
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", text, flags=re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())
    assert re.search(r"^USER gossamer$", text, flags=re.MULTILINE)


def test_the_container_has_the_loops_in_c_and_nothing_that_the_project_does_not_ask_for() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    build, final = re.split(r"^FROM .*$", text, flags=re.MULTILINE)[1:]

    assert re.search(r"apt-get install -y --no-install-recommends gcc libc6-dev", build)
    assert 'python -c "import gossamer.native._kernels"' in build  # an extension that is optional fails in silence
    assert "--require-hashes -r requirements/cluster.txt" in build
    assert re.findall(r"/opt/gossamer/bin/pip install (.*) \\$", build, flags=re.MULTILINE) == [
        "--no-cache-dir --no-index --find-links /wheels 'gossamer[serve,cluster]'"
    ]
    assert "apt-get" not in final and "pip" not in final


@pytest.mark.parametrize("name", ["core", "serve", "cluster", "all", "dev"])
def test_a_lock_has_everything_that_its_extras_need_once_and_no_address(name: str) -> None:
    """So that nothing is missing where only files of the lock may be installed."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    locked = [canonicalize_name(found) for found in re.findall(r"^([\w.-]+)==", text, flags=re.MULTILINE)]
    extras = {"core": [], "cluster": ["serve", "cluster"], "dev": ["all", "dev"]}.get(name, [name])

    assert len(locked) == len(set(locked))
    assert needed_by(extras) <= set(locked)
    assert "http://" not in text and "https://" not in text
    if name != "dev":
        assert not {"pytest", "mypy", "ruff", "playwright"} & set(locked)
    if name == "core":
        assert not {"fastapi", "uvicorn", "numpy", "pyarrow", "prometheus-client"} & set(locked)


def test_all_locks_have_the_same_versions() -> None:
    versions: dict[str, str] = {}
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        for package, version in re.findall(r"^([\w.-]+)==(\S+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert versions.setdefault(package, version) == version, (path.name, package)


def test_the_extra_all_is_the_sum_of_the_others() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    others = {line for name, lines in extras.items() if name not in {"all", "dev"} for line in lines}

    assert set(extras["all"]) == others


def test_what_compose_mounts_and_builds_exists_and_only_this_machine_reaches_it() -> None:
    services = COMPOSE["services"]
    named = set()

    assert (DEPLOY / services["gossamer"]["build"]["context"] / services["gossamer"]["build"]["dockerfile"]).exists()
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists() and volume.endswith(":ro")
            else:
                named.add(source)
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
    assert named == set(COMPOSE["volumes"]) == {"crawl", "prometheus", "grafana"}


def test_compose_uses_images_of_one_version_each_under_their_own_users_and_watches_their_health() -> None:
    for name, service in COMPOSE["services"].items():
        assert "build" in service or re.fullmatch(r"[a-z]+/[a-z]+:v?\d+\.\d+\.\d+", service["image"]), name
        assert "user" not in service  # Prometheus cannot write to its volume as another user
        assert re.search(r"Host'?: '?localhost", " ".join(service["healthcheck"]["test"])), name
        for other, how in service.get("depends_on", {}).items():
            assert other in COMPOSE["services"] and how == {"condition": "service_healthy"}
    assert "'Host': 'localhost'" in (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def test_grafana_is_provisioned_with_prometheus_and_the_dashboard() -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/gossamer.yaml").read_text())["providers"]
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in COMPOSE["services"]["grafana"]["volumes"]}

    assert source["url"] == "http://prometheus:9090" and "prometheus" in COMPOSE["services"]
    assert (DEPLOY / mounted["/etc/grafana/provisioning"]).resolve() == GRAFANA / "provisioning"
    assert (DEPLOY / mounted[provider["options"]["path"]] / "gossamer.json").exists()
    smoke = (DEPLOY / "smoke.sh").read_text(encoding="utf-8")
    assert f"/api/datasources/uid/{source['uid']}/health" in smoke
    assert subprocess.run(["bash", "-n", DEPLOY / "smoke.sh"], timeout=60).returncode == 0


# --- several workers -------------------------------------------------------------------------------------

Tree = dict[str, Any]
WORKERS, CLUSTER = (
    yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    for name in ("compose-workers.yaml", "compose-cluster.yaml")
)
JOINING = [service for name, service in WORKERS["services"].items() if name.startswith("worker-")]


def test_compose_files_fit_the_schema_of_compose() -> None:
    schema = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))

    for composed in (COMPOSE, WORKERS, CLUSTER):
        assert [error.message for error in validator.iter_errors(composed)] == []


def test_the_files_for_clusters_name_what_exists_and_publish_nothing() -> None:
    services = {**WORKERS["services"], **CLUSTER["services"]}
    declared = {*WORKERS["volumes"], *CLUSTER["volumes"], *COMPOSE["volumes"]}
    for name, service in services.items():
        base = service.get("extends", {"file": "compose.yaml", "service": name})
        assert "image" in service or (base["service"] in COMPOSE["services"] and (DEPLOY / base["file"]).exists())
        if service.get("image") not in (None, "gossamer"):
            assert re.fullmatch(r"([a-z]+/)?[a-z]+:\d+\.\d+(\.\d+)?", service["image"]), name
        assert "ports" not in service  # only those of compose.yaml, on loopback
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in declared
        assert {each["source"] for each in service.get("configs", [])} <= CLUSTER["configs"].keys()
        for other, how in service.get("depends_on", {}).items():
            assert other in services and how == {"condition": "service_healthy"}
            assert "healthcheck" in services[other] or other in COMPOSE["services"]
    scraping = yaml.safe_load((DEPLOY / "prometheus-cluster.yml").read_text(encoding="utf-8"))["scrape_configs"]
    hosts = {target.partition(":")[0] for target in scraping[0]["static_configs"][0]["targets"]}
    assert hosts == {"gossamer", *(name for name in services if name.startswith("worker-"))}
    assert len(JOINING) == 3


@pytest.mark.service
def test_the_commands_of_compose_start_a_crawl_that_workers_share(
    tmp_path: Path, postgres_server: PostgresServer, s3: S3Server
) -> None:
    """Each on this machine, with the addresses of the servers here instead of the names of containers."""
    (tmp_path / "gossamer.toml").write_text((DEPLOY / "gossamer.toml").read_text().replace(":9470", ":0"))
    with running_sentinels(tmp_path / "redis") as sentinels:
        here = {
            "postgresql://gossamer@postgres/crawl": postgres_server.create_database(),
            "s3://crawls/crawl?endpoint=http://s3:8333": s3.url("crawls/composed"),
            "redis+sentinel://sentinel-1,sentinel-2,sentinel-3/crawl": sentinels.url,
            "/etc/gossamer/gossamer.toml": str(tmp_path / "gossamer.toml"),
            "/crawl/data": str(tmp_path / "crawl"),
        }
        served = [here.get(word, word) for word in CLUSTER["services"]["gossamer"]["command"]]
        with (
            Service(tmp_path / "crawl", *served, "--unsafe-store", "--host", "0.0.0.0") as service,
            ExitStack() as running,
        ):
            ports: list[int] = []
            for joining in JOINING:
                ports.append(port := lasting_port())
                words = [here.get(word, word) for word in joining["entrypoint"][1:]]
                words[words.index("0.0.0.0:9470")] = f"127.0.0.1:{port}"
                worker = running.enter_context(Command(*words, "--unsafe-store"))
                wait_until(lambda: metrics_at(port) or not worker.runs, "a worker")  # noqa: B023
                assert worker.runs, worker.ended()
            for port in ports:
                wait_until(lambda: metric(port, "gossamer_living_workers") == 4, "all workers")  # noqa: B023
                wait_until(lambda: metric(port, 'gossamer_partitions{owner="self"}') == 64, "its share")  # noqa: B023
            wait_until(lambda: metric(service.metrics_port, "gossamer_uptime_seconds"), "metrics of the service")


# --- Kubernetes ------------------------------------------------------------------------------------------

MANIFESTS = [
    resource
    for path in sorted((DEPLOY / "kubernetes").iterdir())
    for resource in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]


def manifest(kind: str, name: str) -> Tree:
    (found,) = [each for each in MANIFESTS if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("version", ["1.29", kubernetes_validate.latest_version()])
def test_the_manifests_fit_the_schemas_of_kubernetes(version: str) -> None:
    """`ReadWriteOncePod` is stable since 1.29."""
    kinds = set()
    for resource in MANIFESTS:
        kubernetes_validate.validate(resource, version, strict=True)
        kinds.add(resource["kind"])

    assert {"StatefulSet", "Deployment", "Service", "ConfigMap", "PodDisruptionBudget"} <= kinds


def test_the_manifests_start_commands_that_exist_and_fit_each_other() -> None:
    workers, service = manifest("StatefulSet", "gossamer-worker")["spec"], manifest("Deployment", "gossamer")["spec"]
    settings = manifest("ConfigMap", "gossamer")["data"]
    config = make_config(with_underscores(tomllib.loads(settings["gossamer.toml"])), {})
    assert config.store == settings["GOSSAMER_STORE"] and config.blobs and config.cache.url
    assert config.service.metrics_address == ("0.0.0.0", 9470)

    (worker,), (served,) = (each["template"]["spec"]["containers"] for each in (workers, service))
    assert worker["command"][:2] == ["gossamer", "worker"]
    assert {word for word in worker["command"] if word.startswith("--")} <= options_of("worker")
    assert {word for word in served["args"] if word.startswith("--")} <= options_of("serve")
    named = {name[2:-1] for name in worker["command"] if name.startswith("$(")}
    assert named <= {each["name"] for each in worker["env"]}
    for container in (worker, served):
        assert container["envFrom"] == [{"secretRef": {"name": "gossamer"}}]
        for variable in container["env"]:
            assert variable["valueFrom"].get("configMapKeyRef", {"key": "AWS_REGION"})["key"] in settings
        mounted = {volume["name"] for volume in container["volumeMounts"]}
        assert "crawl" in mounted

    for each in (workers, service):
        labels = each["template"]["metadata"]["labels"]
        assert each["selector"]["matchLabels"] == labels
        assert each["template"]["spec"]["terminationGracePeriodSeconds"] > GRACE_SECONDS
        (balanced,) = [s for s in MANIFESTS if s["kind"] == "Service" and s["spec"]["selector"] == labels]
        assert {port["targetPort"] for port in balanced["spec"]["ports"]} <= {
            port["name"] for port in each["template"]["spec"]["containers"][0]["ports"]
        }
    budget = manifest("PodDisruptionBudget", "gossamer-worker")["spec"]
    assert budget["selector"]["matchLabels"] == workers["selector"]["matchLabels"]
    assert manifest("Service", workers["serviceName"])["spec"]["clusterIP"] == "None"
    assert [claim["metadata"]["name"] for claim in workers["volumeClaimTemplates"]] == ["crawl"]
