"""Measure a claim of the paper: write its table, picture and raw numbers.

python -m transformer_jax study order
python -m transformer_jax study order --size small

NAME.md, NAME.svg and NAME.json of the full form are in docs/results.
"""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator
from typing import get_args

from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.files import as_path
from transformer_jax.reports.render import render
from transformer_jax.studies import STUDIES
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.results import make_record, write_results
from transformer_jax.studies.study import Size

# What is kept with the project, and what a quick try leaves.
_OUTPUT: dict[Size, str] = {"full": "docs/results", "small": "runs/studies"}


def main() -> None:
    """Parse the arguments, measure, write and print the table."""
    listed = "\n".join(f"  {name:<14}{study.shows}" for name, study in STUDIES.items())
    parser = CommandParser(
        prog=f"{PROGRAM} study",
        usage="%(prog)s NAME [options]",
        description=f"{__doc__}\nstudies:\n{listed}",
    )
    parser.add_argument("name", choices=STUDIES, metavar="NAME", help="one of these")
    parser.add_argument(
        "--size",
        choices=get_args(Size),
        default="full",
        help="full (when left out), or small, which takes seconds",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        help="where to write; if left out docs/results, and runs/studies if small",
    )
    parser.add_argument(
        "--workdirs",
        metavar="DIR",
        help="keep what is trained here, to go on with; if left out it is removed. "
        "`bottleneck` and `quality` look here for runs that are trained already",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="Multi30k: train and val, each as .en and .de; `heads` trains on it too",
    )
    options = parser.parse_args()
    study, sizes = STUDIES[options.name], STUDIES[options.name].sizes[options.size]
    words = [PROGRAM, "study", options.name]
    words += [] if options.size == "full" else ["--size", options.size]
    # The folders of one machine mean nothing on another.
    given = ("data", options.data), ("workdirs", options.workdirs)
    words += [f"--{name} DIR" for name, folder in given if folder]
    with command("study"):
        use_compilation_cache()
        output = as_path(options.output or _OUTPUT[options.size])
        with _workdirs(options.workdirs) as workdirs:
            bench = Bench(workdirs, as_path(options.data) if options.data else None)
            rows = study.measure(sizes, bench)
        record = make_record(" ".join(words), sizes, rows, bench.seconds)
        write_results(study, record, output, options.name)
        print(render(study.tabulate(rows), "table"))
        print(f"\nWrote {output / options.name}.md, .svg and .json")


@contextlib.contextmanager
def _workdirs(given: str | None) -> Iterator[pathlib.Path]:
    """Return the folder that was given, or one that is removed again."""
    if given is not None:
        yield as_path(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)
