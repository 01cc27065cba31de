"""What is in deploy/ fits the service: metrics, labels and options that are named there exist, and each file is found
good by the program that reads it."""

import http.client
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.utils import canonicalize_name

from gossamer.config.load import make_config, with_underscores
from gossamer.service.metrics import METRICS
from tests.debian import unpacked
from tests.dependencies import needed_by
from tests.integration.crawl_process import wait_until
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


def expressions_of_dashboard() -> list[str]:
    panels = json.loads((GRAFANA / "dashboards" / "gossamer.json").read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def expressions_of_alerts() -> list[str]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def selected(expression: str) -> Iterator[tuple[str, str]]:
    """(series, what stands in its braces) of all that an expression reads."""
    for found in re.finditer(r"\b(gossamer_\w+)(?:\{([^}]*)\})?", expression):
        yield found[1], found[2] or ""


ALL = [*expressions_of_dashboard(), *expressions_of_alerts()]


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


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {SERIES[name].name for expression in expressions_of_dashboard() for name, _ in selected(expression)}

    assert [metric.name for metric in METRICS if metric.name not in shown] == []


def test_prometheus_can_read_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    filled = [e.replace("$__rate_interval", "5m").replace("$instance", ".*") for e in expressions_of_dashboard()]
    assert not any("$" in expression for expression in filled)
    rules = [{"record": f"shown:{number}", "expr": expression} for number, expression in enumerate(filled)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))

    assert f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "rules.yml")


def test_panels_lie_beside_each_other_and_have_numbers_of_their_own() -> None:
    panels = json.loads((GRAFANA / "dashboards" / "gossamer.json").read_text(encoding="utf-8"))["panels"]
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


@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus-container.yml"])
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

UNIT = (DEPLOY / "gossamer.service").read_text(encoding="utf-8")


def test_systemd_finds_the_unit_good_and_well_shut_in(tmp_path: Path) -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT, flags=re.MULTILINE))
    assert {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "CapabilityBoundingSet": "",
    }.items() <= settings.items()
    if shutil.which("systemd-analyze") is None:
        return  # nobody to ask; the rest is what it says
    unit = tmp_path / "gossamer.service"
    unit.write_text(UNIT.replace("/opt/gossamer/bin/gossamer", sys.executable))

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
    started = re.findall(r"^ExecStart=\S+ (.*)$", UNIT, flags=re.MULTILINE)
    entry = re.findall(r"^ENTRYPOINT (.*)$", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)
    command = COMPOSE["services"]["gossamer"]["command"]

    assert len(started) == len(entry) == 1
    for words in (started[0].split(), [*json.loads(entry[0])[1:], *command]):
        assert words[0] == "serve"
        assert {word for word in words if word.startswith("--")} <= options_of("serve")


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
    assert "--require-hashes -r requirements/serve.txt" in build
    assert re.findall(r"/opt/gossamer/bin/pip install (.*) \\$", build, flags=re.MULTILINE) == [
        "--no-cache-dir --no-index --find-links /wheels 'gossamer[serve]'"
    ]
    assert "apt-get" not in final and "pip" not in final


@pytest.mark.parametrize("name", ["core", "serve", "all", "dev"])
def test_a_lock_has_everything_that_its_extras_need_once_and_no_address(name: str) -> None:
    """So that nothing is missing where only files of the lock may be installed."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    locked = [canonicalize_name(found) for found in re.findall(r"^([\w.-]+)==", text, flags=re.MULTILINE)]
    extras = {"core": [], "dev": ["all", "dev"]}.get(name, [name])

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
