"""Check of a container image: it becomes healthy, answers a client, and stops when it is told to.

Usage: ``python scripts/check_image.py slackwater:check``

The script needs docker and the ports 8080 to 8082, and no package beside Python's own.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

CONTAINER = "slackwater-check"
HOST = "127.0.0.1"
PORTS = f"{HOST}:8080-8082:8080-8082"
STATE = "{{.State.Status}} {{.State.Health.Status}}"
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30


class ImageError(Exception):
    """An image that should not be given to users."""


def docker(*words: str) -> str:
    """Output of a command of docker."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)  # noqa: S607  the one on PATH
    if done.returncode:
        raise ImageError(f"docker {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def wait_until_healthy() -> None:
    """Return when the health check that the image defines succeeds."""
    status = ""
    for _ in range(START_SECONDS_MAX):
        status = docker("inspect", "--format", STATE, CONTAINER)
        if status == "running healthy":
            return
        if not status.startswith("running"):
            break
        time.sleep(1)
    raise ImageError(f"the container is {status} in place of running and healthy")


def ask(url: str, authorization: str, body: bytes | None = None) -> str:
    """Answer of the service to one request."""
    request = urllib.request.Request(url, data=body)  # noqa: S310  an address of ours
    request.add_header("Authorization", authorization)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        raise ImageError(f"{url}: {error.code} {error.read().decode()}") from error
    except OSError as error:
        raise ImageError(f"{url}: {error}") from error


def check_answers() -> None:
    """Make a client by the command line, fetch a token, and ask for the readiness."""
    made = docker(
        "exec", CONTAINER, "slackwater-api", "client", "create", "--environment", "sandbox"
    )
    client = json.loads(made)
    secret = f"{client['client_id']}:{client['client_secret']}".encode()
    basic = f"Basic {base64.b64encode(secret).decode()}"
    answer = ask(f"http://{HOST}:8081/oauth2/token", basic, b"grant_type=client_credentials")
    ask(f"http://{HOST}:8080/health/ready", f"Bearer {json.loads(answer)['access_token']}")


def check_stop() -> None:
    """Stop the container; one that ends by itself has saved what it holds."""
    docker("stop", "-t", str(STOP_SECONDS_MAX), CONTAINER)
    code = docker("inspect", "--format", "{{.State.ExitCode}}", CONTAINER)
    if code != "0":
        raise ImageError(f"the container ended with the code {code}")


def main() -> int:
    """Run the image of the command line, check it, and remove the container."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    image = parser.parse_args().image
    try:
        docker(
            *("run", "--detach", "--name", CONTAINER, "--publish", PORTS),
            *("--health-interval", "1s", image),
        )
        wait_until_healthy()
        check_answers()
        check_stop()
    except ImageError as error:
        print(f"error: {error}", file=sys.stderr)
        subprocess.run(["docker", "logs", CONTAINER], check=False)  # noqa: S607
        return 1
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", CONTAINER], check=False)  # noqa: S607
    print(f"{image}: healthy, and answers a client")
    return 0


if __name__ == "__main__":
    sys.exit(main())
