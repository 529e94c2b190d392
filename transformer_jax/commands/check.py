"""Say whether a run's files are whole.

python -m transformer_jax check --workdir RUN

With --accept, what was edited on purpose is taken as it is from now on.
"""

import sys

from transformer_jax.commands.messages import EXIT_ERROR, command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.runs.run_check import accept_run, check_run
from transformer_jax.text_table import text_table


def main() -> None:
    """Parse the arguments, check and print; exits with 1 where anything is damaged."""
    parser = CommandParser(
        prog=f"{PROGRAM} check",
        usage="%(prog)s --workdir RUN [--accept]",
        description=__doc__,
    )
    parser.add_argument("--workdir", required=True, metavar="RUN", help="the run")
    parser.add_argument(
        "--accept",
        action="store_true",
        help="take config, tokenizer and kept text for right as they are",
    )
    options = parser.parse_args()
    with command("check"):
        if options.accept:
            accept_run(options.workdir)
        findings = check_run(options.workdir)
        rows = [(finding.path, finding.damage or "whole") for finding in findings]
        print(text_table([("file", "state"), *rows]))
        if any(finding.damage for finding in findings):
            sys.exit(EXIT_ERROR)
