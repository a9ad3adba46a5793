#!/bin/sh
# Everything that has to hold before a change is done: `./check.sh [FOLDER OF A VIRTUAL ENVIRONMENT]`.
# The tests speak to a real server: VERTEBRA_BIN names the program.
set -eu
cd "$(dirname "$0")"
venv=${1:-.venv}

if [ ! -x "$venv/bin/python" ]; then
    "${PYTHON:-python3}" -m venv "$venv"
fi
python=$(cd "$venv/bin" && pwd)/python
"$python" -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

"$python" -m ruff format --check --quiet .
"$python" -m ruff check --quiet .
"$python" -m pyright --warnings --pythonpath "$python"
"$python" tools/generate.py --check
"$python" -m pytest
