import pytest

from transformer_jax.data.labels import Labels, labels_from
from transformer_jax.errors import UserError


def test_names_are_numbered_in_their_order():
    labels = labels_from("no, not at all,yes")
    assert labels.names == ("no", "not at all", "yes")
    assert labels.encode(["yes", "not at all"]) == [[2], [1]]
    assert labels.join([1]) == "not at all"
    assert labels.vocab_size == 3


def test_labels_of_words_are_parted_by_spaces():
    labels = Labels(["O", "NOUN"], is_of_words=True)
    assert labels.encode(["O NOUN O", ""]) == [[0, 1, 0], []]
    assert labels.join([0, 1]) == "O NOUN"
    assert labels.fingerprint != labels_from("O,NOUN").fingerprint


def test_what_is_no_label_is_refused():
    with pytest.raises(UserError, match="label 'Yes' is none .* Did you mean yes"):
        labels_from("no,yes").check("Yes")
    with pytest.raises(UserError, match="two names or more"):
        labels_from("yes")
