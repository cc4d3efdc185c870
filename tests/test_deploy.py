"""The files of deploy/, as far as they can be tested without Docker and systemd."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

import yaml

from limelight.cli import serve
from limelight.serve.http.guard import is_ours

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    serve.arguments(parser)
    return parser.parse_args(argv)


def test_the_image_copies_what_there_is_and_nothing_else_is_sent():
    (copied,) = re.findall(r"^COPY (pyproject.+) \./$", DOCKERFILE, re.MULTILINE)
    needed = {*copied.split(), "src"}
    assert all((ROOT / name).exists() for name in needed)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == needed


def test_the_image_serves_to_others_as_nobody():
    entry, given = (
        json.loads(each) for each in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.+\])$", DOCKERFILE, re.M)
    )
    args = parse([*entry, *given][2:])
    assert (entry[:2], args.host, args.models) == (["limelight", "serve"], "0.0.0.0", ["reader"])
    assert re.search(r"^USER 65532:65532$", DOCKERFILE, re.MULTILINE)
    (check,) = re.findall(r'HEALTHCHECK.+"-c", "(.+)"\]', DOCKERFILE)
    compile(check, "health check", "exec")


def test_the_compose_file_gives_the_server_no_port_and_no_right():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    server = services["limelight"]
    assert "ports" not in server
    assert (server["read_only"], server["cap_drop"], server["tmpfs"]) == (True, ["ALL"], ["/tmp"])


def test_the_server_answers_to_the_site_and_to_the_proxy_that_asks_whether_it_is_ready():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    mounted = services["proxy"]["volumes"][0].split(":")[0]
    (upstream,) = re.findall(r"reverse_proxy (\S+)", (DEPLOY / mounted).read_text())
    names = parse(services["limelight"]["command"]).allow_host
    assert names[0] == "${SITE:?the name of this machine}"
    assert is_ours([upstream.encode()], names)  # the Host of its question: the address that it connects to


def test_the_unit_runs_a_command_that_there_is():
    (command,) = re.findall(r"^ExecStart=(.+)$", (DEPLOY / "limelight.service").read_text(), re.MULTILINE)
    program, name, *argv = shlex.split(command)
    assert (Path(program).name, name, parse(argv).models) == ("limelight", "serve", ["reader"])
