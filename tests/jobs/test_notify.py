"""One message for each change of state, whatever the way; a way that leads nowhere costs little and fails nothing."""

from __future__ import annotations

import json
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from olscale.jobs.home import JobHome, read_json
from olscale.jobs.job_file import JobFile, parse_job
from olscale.jobs.notify import tell_late, tell_state

NIGHTS = [
    ("1", "good", []),
    ("2", "alarm", ["a"]),
    ("3", "alarm", ["a"]),
    ("4", "alarm", ["a", "b"]),
    ("5", "failed", []),
    ("6", "failed", []),
    ("7", "good", []),
    ("8", "good", []),
]
EVENTS = ["alarm", "alarm", "failed", "recovered"]


def job_with(rule: dict[str, Any], tmp_path: Path) -> JobFile:
    return parse_job(
        {"name": "nightly", "bench": [{"names": ["linear"]}], "notify": [rule]},
        folder=tmp_path,
    )


def tell_all(job: JobFile, home: JobHome) -> list[str]:
    home.path.mkdir()
    return [
        event
        for night in NIGHTS
        if (event := tell_state(job, home, *night, [f"line of {night[0]}"]))
    ]


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_command_gets_json_on_standard_input(home: JobHome, tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = f"import sys; open({str(said)!r}, 'a').write(sys.stdin.read() + chr(10))"
    job = job_with({"command": [sys.executable, "-S", "-c", code]}, tmp_path)
    assert tell_all(job, home) == EVENTS
    messages = [json.loads(line) for line in said.read_text().splitlines()]
    assert [message["event"] for message in messages] == EVENTS
    assert messages[0] == {
        "job": "nightly",
        "event": "alarm",
        "night": "2",
        "before": "good",
        "lines": ["line of 2"],
        "page": str(home.path / "page" / "index.html"),
        "text": "nightly: alarm, night 2 (before: good)\nline of "
        f"2\n{home.path / 'page' / 'index.html'}",
    }


def test_a_webhook_is_posted_to(home: JobHome, tmp_path: Path) -> None:
    posted = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    with serving(server):
        assert (
            tell_all(
                job_with(
                    {"webhook": f"http://127.0.0.1:{server.server_port}"}, tmp_path
                ),
                home,
            )
            == EVENTS
        )
    assert [message["event"] for message in posted] == EVENTS


def test_mail_is_sent(home: JobHome, tmp_path: Path) -> None:
    """To a server that speaks as much of SMTP as a letter needs."""
    letters = []

    class Post(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                word = line[:4].upper().strip()
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    letters.append(
                        "".join(iter(lambda: self.rfile.readline().decode(), ".\r\n"))
                    )
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")
                if word == b"QUIT":
                    return

    server = socketserver.TCPServer(("127.0.0.1", 0), Post)
    with serving(server):
        mail = {
            "to": ["team@example.org"],
            "from": "night@example.org",
            "host": "127.0.0.1",
        }
        rule = {"on": ["failed"], "email": mail | {"port": server.server_address[1]}}
        assert tell_all(job_with(rule, tmp_path), home) == EVENTS
    [letter] = letters
    assert "Subject: olscale nightly: failed" in letter
    assert "To: team@example.org" in letter
    assert "line of 5" in letter


def test_dead_ends_cost_little_and_are_named(home: JobHome, tmp_path: Path) -> None:
    """A server that takes the connection and says nothing, a program that never ends, one that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        content = {
            "name": "nightly",
            "bench": [{"names": ["linear"]}],
            "notify": [
                {"webhook": f"http://127.0.0.1:{silent.getsockname()[1]}"},
                {"command": ["sleep", "100"]},
                {"command": ["/no/such/program"]},
            ],
        }
        home.path.mkdir()
        begin = monotonic()
        assert (
            tell_state(
                parse_job(content, folder=tmp_path),
                home,
                "1",
                "failed",
                [],
                ["line"],
                seconds=0.5,
            )
            == "failed"
        )
        assert monotonic() - begin < 5
    faults = read_json(home.path / "told.json")["faults"]
    assert [fault.partition(":")[0] for fault in faults] == [
        "webhook http",
        "command sleep",
        "command /no/such/program",
    ]


def test_a_command_may_write_much_and_leave_something_behind(
    home: JobHome, tmp_path: Path
) -> None:
    """Its output is not kept; a program that it starts and that holds its pipes is not waited for."""
    code = (
        "import sys, subprocess as s; s.Popen(['sleep', '60']); [sys.stderr.write('x' * "
        "1000000) for _ in range(200)]"
    )
    home.path.mkdir()
    begin = monotonic()
    job = job_with({"command": [sys.executable, "-S", "-c", code]}, tmp_path)
    assert tell_state(job, home, "1", "failed", [], ["line"]) == "failed"
    assert monotonic() - begin < 30
    assert read_json(home.path / "told.json")["faults"] == []


def test_a_command_that_fails_is_named_with_its_last_words(
    home: JobHome, tmp_path: Path
) -> None:
    home.path.mkdir()
    job = job_with(
        {"command": ["sh", "-c", "echo much; echo 'no such team' >&2; exit 7"]},
        tmp_path,
    )
    tell_state(job, home, "1", "failed", [], ["line"])
    [fault] = read_json(home.path / "told.json")["faults"]
    assert fault.startswith("command sh: ")
    assert fault.endswith("exit code 7: no such team")


def test_what_a_command_has_started_ends_with_it(home: JobHome, tmp_path: Path) -> None:
    home.path.mkdir()
    job = job_with(
        {"command": ["sh", "-c", f"(sleep 2; touch {tmp_path}/late) & wait"]}, tmp_path
    )
    tell_state(job, home, "1", "failed", [], ["line"], seconds=0.5)
    [fault] = read_json(home.path / "told.json")["faults"]
    assert fault.startswith("command sh")
    sleep(2.5)
    assert not (tmp_path / "late").exists()


def test_a_mail_server_that_is_not_there_is_named(
    home: JobHome, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    home.path.mkdir()
    job = job_with(
        {"email": {"to": ["team@example.org"], "host": "127.0.0.1", "port": port}},
        tmp_path,
    )
    assert tell_state(job, home, "1", "failed", [], ["line"]) == "failed"
    [fault] = read_json(home.path / "told.json")["faults"]
    assert "refused" in fault


def test_a_late_job_is_told_of_once_and_recovers(home: JobHome, tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = f"import json, sys; open({str(said)!r}, 'a').write(json.load(sys.stdin)['event'] + chr(10))"
    job = job_with({"command": [sys.executable, "-S", "-c", code]}, tmp_path)
    home.path.mkdir()
    assert tell_state(job, home, "1", "good", [], []) == ""
    assert [tell_late(job, home, "overdue") for _ in range(3)] == [True, False, False]
    assert tell_state(job, home, "2", "good", [], []) == "recovered"
    assert said.read_text().split() == ["late", "recovered"]
