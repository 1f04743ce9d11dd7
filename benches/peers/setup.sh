#!/bin/sh
# Installs FlexMeasures, the one heavy peer, into .venv-peers at the root of the repository.
#
# Safe to run again: an installation that imports is left alone. Leaves with a status other than
# zero and one line of explanation when it cannot be installed; the benchmark then says that this
# peer is missing and runs without it.
set -eu

version=1.0.1
root=$(cd "$(dirname "$0")/../.." && pwd)
venv="$root/.venv-peers"
python="$venv/bin/python"

works() {
    [ -x "$python" ] && "$python" "$root/benches/peers/flexmeasures_child.py" --check "$version"
}

if works >/dev/null 2>&1; then
    echo "flexmeasures $version is in $venv"
    exit 0
fi

# uv stands in where `python3 -m venv` has no ensurepip, and resolves many pins faster than pip.
uv="$root/.venv/bin/uv"
[ -x "$uv" ] || uv=$(command -v uv || true)
base="$root/.venv/bin/python"
[ -x "$base" ] || base=$(command -v python3)

if [ -n "$uv" ]; then
    "$uv" venv --quiet --clear --python "$base" "$venv"
    "$uv" pip install --quiet --python "$python" "flexmeasures==$version" highspy
else
    "$base" -m venv --clear "$venv"
    "$python" -m pip install --quiet "flexmeasures==$version" highspy
fi

if works; then
    echo "flexmeasures $version installed into $venv"
else
    echo "flexmeasures $version was installed into $venv but does not import" >&2
    exit 1
fi
