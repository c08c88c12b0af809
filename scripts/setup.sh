# Sourced by the other scripts: makes the virtual environment $VENV (default .venv) and installs the project into it,
# with what its tests need, unless that has been done for this very pyproject.toml.

VENV=${VENV:-.venv}

find_python() {
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "No Python 3.11 or newer was found on PATH; kvoffload needs one. Install it and run this again." >&2
    return 1
}

if ! cmp -s pyproject.toml "$VENV/installed-pyproject.toml"; then
    python=$(find_python)
    echo "Setting up $VENV with $("$python" --version) (once; about a minute)." >&2
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' # for --group
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[prove,prometheus]' --group dev --group peers
    cp pyproject.toml "$VENV/installed-pyproject.toml"
fi
