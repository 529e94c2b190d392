"""A test set counts once for a run's checkpoints and once for its means."""

import pytest

from tests.reports.a_run import evaluation, write_run
from transformer_jax.reports import table2, table3
from transformer_jax.reports.chosen_evaluations import choose_evaluations
from transformer_jax.reports.run_summary import read_run, read_runs
from transformer_jax.runs.run_evaluation import file_name


@pytest.fixture
def directory(tmp_path):
    directory = write_run(tmp_path / "run", tmp_path / "text")
    for path in directory.evaluation.iterdir():
        path.unlink()
    with directory.metrics_path.open("w") as file:
        for step, score in ((2, 0.0), (4, 30.0), (6, 20.0)):
            file.write(f'{{"step": {step}, "validation/sacrebleu": {score}}}\n')
    return directory


def _evaluate(directory, text, steps, beam_size=2, score=1.0, extra="", **changes):
    """Write an evaluation as evaluate.py would name it."""
    content = evaluation("test") | {"sacrebleu": score, "test_set": "test.en (7 lines)"}
    content["produced_by"] |= {
        "checkpoint_steps": steps,
        "is_average": len(steps) > 1,
        "beam_size": beam_size,
        "alpha": 0.6,
        "max_extra_length": 3,
    }
    produced_by = {k: v for k, v in changes.items() if k in ("split", "source_file")}
    content["produced_by"] |= produced_by
    content |= {k: v for k, v in changes.items() if k not in produced_by}
    mean = f"average{len(steps)}-{steps[0]}-{steps[-1]}"
    weights = mean if len(steps) > 1 else f"step-{steps[0]}"
    name = f"{text}.{weights}.beam{beam_size}.gnmt0.6{extra}"
    directory.write_evaluation(name, content, ["x"])


def _chosen(directory):
    chosen, left_out = choose_evaluations(read_run(directory.root))
    return [(c.test_set, c.weights, c.scores["sacrebleu"]) for c in chosen], left_out


def test_the_runs_own_search_and_best_checkpoint_stand_for_all_tries(directory):
    for step, score in ((2, 1.0), (4, 2.0), (6, 3.0)):
        _evaluate(directory, "test", [step], score=score)
        _evaluate(directory, "test", [step], beam_size=9, score=9.0)
    _evaluate(directory, "test", [4], score=8.0, extra=".tok-char")
    assert _chosen(directory) == ([("test.en (7 lines)", "step 4, the best", 2.0)], 6)
    report = table2.make_report([directory.root])
    assert [row["row"] for row in report.rows].count("run") == 1
    assert any("run: 6 more evaluations" in note for note in report.notes)


def test_a_mean_has_a_row_of_its_own_and_the_longest_is_chosen(directory):
    _evaluate(directory, "test", [4], score=1.0)
    _evaluate(directory, "test", [4, 6], score=2.0)
    _evaluate(directory, "test", [2, 4, 6], score=3.0)
    chosen, left_out = _chosen(directory)
    assert [weights for _, weights, _ in chosen] == [
        "step 4, the best",
        "mean of 3, steps 2 to 6",
    ]
    assert left_out == 1
    report = table2.make_report([directory.root])
    _, scores, costs = (part.rows for part in report.parts)
    assert [row["row"] for row in scores] == ["run", "run"]
    assert [row["row"] for row in costs].count("run") == 1


def test_the_runs_own_files_are_its_splits(directory, tmp_path):
    for split in ("test", "validation"):
        path = tmp_path / "text" / f"{split}.en"
        text = file_name(path)
        _evaluate(directory, text, [4], split=None, source_file=str(path))
    _evaluate(directory, "validation", [4], split="validation")
    _evaluate(directory, "test", [4], score=5.0)
    assert _chosen(directory) == ([("test.en (7 lines)", "step 4, the best", 5.0)], 1)


def test_namesakes_in_other_folders_are_test_sets_of_their_own(directory):
    for folder in ("a", "b"):
        path = f"{folder}/test.en"
        _evaluate(directory, file_name(path), [4], split=None, source_file=path)
    chosen, left_out = _chosen(directory)
    assert sorted(title for title, *_ in chosen) == [
        "test.en (7 lines), a/test.en",
        "test.en (7 lines), b/test.en",
    ]
    assert left_out == 0


def test_a_known_test_set_is_one_wherever_it_lies(directory):
    known = {"test_set": "newstest2014 (full)", "split": None}
    for path in ("a/newstest2014.en", "b/newstest2014-ende.en"):
        _evaluate(directory, file_name(path), [4], source_file=path, **known)
    chosen, left_out = _chosen(directory)
    assert [title for title, *_ in chosen] == ["newstest2014 (full)"]
    assert left_out == 1


def test_table_3_takes_the_validation_with_the_runs_own_search(directory):
    for beam_size in (1, 2, 9):
        _evaluate(
            directory,
            "validation",
            [6],
            beam_size,
            float(beam_size),
            split="validation",
        )
    report = table3.make_report([directory.root])
    assert report.rows[-1]["measured_sacrebleu"] == 2.0


def test_a_run_named_twice_is_read_once_and_namesakes_go_by_their_paths(tmp_path):
    one, two = (
        write_run(tmp_path / seed / "base", tmp_path / "text").root for seed in "12"
    )
    assert [run.name for run in read_runs([one, one / "."])] == ["base"]
    assert [run.name for run in read_runs([one, two])] == [str(one), str(two)]
