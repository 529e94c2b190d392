"""How a structure is said in English."""

from transformer_jax.grammar import english_forms
from transformer_jax.grammar.structures import (
    Clause,
    NounPhrase,
    Pair,
    Phrase,
    PrepositionalPhrase,
    Pronoun,
    Relative,
    Sentence,
    Subordinate,
    person_of,
)


def say_sentence(sentence: Sentence) -> str:
    """Return the sentence, with a capital letter and its final mark."""
    clause, front, question = sentence.clause, sentence.front, sentence.question
    if question:
        if isinstance(question, NounPhrase):
            opening = say_phrase(question)
        else:
            opening = question.english
        words = f"{opening} {say_clause(clause, asks=not sentence.asks_subject)}"
    elif front == "verb":
        words = say_clause(clause, asks=True)
    elif front == "time" and clause.time:
        words = f"{clause.time.english} {say_clause(clause._replace(time=None))}"
    elif front == "place" and clause.place:
        opening = say_prepositional(clause.place)
        words = f"{opening} {say_clause(clause._replace(place=None))}"
    elif front == "adjunct" and clause.adjunct:
        opening = _subordinate(clause.adjunct)
        words = f"{opening}, {say_clause(clause._replace(adjunct=None))}"
    else:
        words = say_clause(clause)
    if sentence.conjunct:
        words += f"{sentence.conjunction[0]} {say_clause(sentence.conjunct)}"
    mark = "?" if question or front == "verb" else "."
    return words[0].upper() + words[1:] + mark


def say_clause(clause: Clause, asks: bool = False) -> str:
    """Return a clause with its subject first, or its auxiliary if it asks."""
    verb = clause.verb
    finite, rest, is_auxiliary = _verb_words(clause, asks)
    subject = say_phrase(clause.subject)
    frequency = clause.frequency.english if clause.frequency else ""
    if asks:
        words = [finite, subject, frequency, rest]
    elif is_auxiliary:
        words = [subject, finite, frequency, rest]
    else:
        words = [subject, frequency, finite, rest]
    direct = say_phrase(clause.direct, 1) if clause.direct else ""
    indirect = say_phrase(clause.indirect, 1) if clause.indirect else ""
    if isinstance(clause.direct, Pronoun):
        # "picks him up", "gives it to the child"
        words += [verb.preposition, direct, verb.particle]
        words += ["to", indirect] if indirect else []
    elif indirect and not direct:
        words += ["to", indirect]
    else:
        words += [verb.particle, verb.preposition, indirect, direct]
    if clause.predicate:
        words += [clause.predicate.degree[0], clause.predicate.adjective.english]
    if clause.manner:
        words.append(clause.manner.english)
    if clause.place:
        words.append(say_prepositional(clause.place))
    if clause.time:
        words.append(clause.time.english)
    if clause.complement:
        words.append(f"that {say_clause(clause.complement)}")
    spoken = " ".join([word for word in words if word])
    if clause.adjunct:
        comma = "," if clause.adjunct.english == "although" else ""
        return f"{spoken}{comma} {_subordinate(clause.adjunct)}"
    return spoken


def _subordinate(adjunct: Subordinate) -> str:
    return f"{adjunct.english} {say_clause(adjunct.clause)}"


def _verb_words(clause: Clause, asks: bool) -> tuple[str, str, bool]:
    """Return the finite word, the words behind it, and whether it is an auxiliary."""
    person = person_of(clause.subject)
    forms, modal, tense = clause.verb.english, clause.modal, clause.tense
    is_past = tense == "past"
    is_auxiliary = True
    if modal:
        finite = modal.english[is_past][person]
        base = modal.english_base
        rest = (
            f"{modal.english_rest} {forms.base}" if modal.english_rest else forms.base
        )
        is_auxiliary = modal.is_auxiliary
    elif tense == "future":
        finite, base, rest = english_forms.WILL[person], "", forms.base
    elif tense == "perfect":
        finite, base, rest = english_forms.HAVE.present[person], "", forms.participle
    else:
        finite = (forms.past if is_past else forms.present)[person]
        base, rest, is_auxiliary = forms.base, "", forms is english_forms.BE
    if not is_auxiliary and (asks or clause.is_negated):
        rest = f"{base} {rest}" if rest else base
        do = english_forms.DO
        finite, is_auxiliary = (do.past if is_past else do.present)[person], True
    if clause.is_negated:
        if asks and finite == "am":
            raise ValueError('a negated question has no form for "am I"')
        finite = english_forms.NEGATED[finite]
    return finite, rest, is_auxiliary


def say_prepositional(phrase: PrepositionalPhrase) -> str:
    """Return a preposition with its noun phrase."""
    return f"{phrase.english} {say_phrase(phrase.phrase, 1)}"


def say_phrase(phrase: Phrase, form: int = 0) -> str:
    """Return a noun phrase; `form` is 0 for a subject and 1 for any other role."""
    if isinstance(phrase, NounPhrase):
        return _noun_phrase(phrase)
    if isinstance(phrase, Pronoun):
        return phrase.english[form]
    if isinstance(phrase, Pair):
        return f"{_noun_phrase(phrase.first)} and {_noun_phrase(phrase.second)}"
    return ""


def _noun_phrase(phrase: NounPhrase) -> str:
    words = phrase.noun.english[phrase.is_plural]
    if phrase.adjective:
        words = f"{phrase.adjective.english} {words}"
    determiner = phrase.determiner.english[phrase.is_plural]
    if determiner == "a":
        determiner = english_forms.indefinite_article(words)
    if determiner:
        words = f"{determiner} {words}"
    attribute = phrase.attribute
    if attribute is None:
        return words
    if isinstance(attribute, Relative):
        return f"{words} {_relative(attribute, 'person' in phrase.noun.classes)}"
    return f"{words} {say_prepositional(attribute)}"


def _relative(relative: Relative, is_person: bool) -> str:
    role = relative.role
    if role == "place":
        word = f"{relative.preposition[0]} {'whom' if is_person else 'which'}"
    elif role == "indirect":
        return f"to whom {say_clause(relative.clause)}"
    elif is_person:
        word = "who" if role == "subject" else "whom"
    else:
        word = "that"
    return f"{word} {say_clause(relative.clause)}"
