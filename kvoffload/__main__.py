"""``python -m kvoffload`` is the command ``kvoffload``."""

from kvoffload.cli import app

if __name__ == "__main__":
    app(prog_name="kvoffload")
