"""How a structure is said in German: front, finite verb, middle, closing verbs, end."""

from transformer_jax.grammar import german_forms
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.structures import (
    NO,
    Clause,
    NounPhrase,
    Pair,
    Phrase,
    PrepositionalPhrase,
    Pronoun,
    Relative,
    Sentence,
    Subordinate,
    is_indefinite,
    person_of,
)

_NOMINATIVE, _ACCUSATIVE, _DATIVE = Case


def say_sentence(sentence: Sentence) -> str:
    """Return the sentence, with a capital letter, its commas and its final mark."""
    clause, front = sentence.clause, sentence.front
    if isinstance(sentence.question, NounPhrase):
        question = say_phrase(sentence.question, sentence.question_case)
        words = verb_second(clause, question)
    elif sentence.question:
        words = verb_second(clause, sentence.question.german)
    elif front == "verb":
        words = verb_second(clause, "")
    elif front == "time" and clause.time:
        words = verb_second(clause._replace(time=None), clause.time.german)
    elif front == "place" and clause.place:
        opening = say_prepositional(clause.place)
        words = verb_second(clause._replace(place=None), opening)
    elif front == "adjunct" and clause.adjunct:
        opening = f"{_subordinate(clause.adjunct)} ,"
        words = verb_second(clause._replace(adjunct=None), opening)
    else:
        words = verb_second(clause)
    if sentence.conjunct:
        words += f"{sentence.conjunction[1]} {verb_second(sentence.conjunct)}"
    return _punctuate(words, "?" if sentence.question or front == "verb" else ".")


def _punctuate(words: str, mark: str) -> str:
    """Join commas to their words, drop the doubled and the last, and close."""
    words = words.replace(" ,", ",").replace(",,", ",").rstrip(",")
    return words[0].upper() + words[1:] + mark


def verb_second(clause: Clause, opening: str | None = None) -> str:
    """Return a main clause: opening (or the subject), finite verb, and the rest.

    An empty opening puts the verb first, as in a yes/no question.
    """
    finite, closing, _ = verb_words(clause)
    subject = say_phrase(clause.subject, _NOMINATIVE)
    words = [subject, finite] if opening is None else [opening, finite, subject]
    return _join([*words, *middle_words(clause), closing, _end(clause)])


def verb_final(clause: Clause, opening: str) -> str:
    """Return a subordinate clause: opening, subject, the rest, finite verb last."""
    finite, closing, prefix = verb_words(clause)
    last = prefix + finite if prefix else f"{closing} {finite}" if closing else finite
    subject = say_phrase(clause.subject, _NOMINATIVE)
    return _join([opening, subject, *middle_words(clause), last, _end(clause)])


def _join(words: list[str]) -> str:
    return " ".join([word for word in words if word])


def verb_words(clause: Clause) -> tuple[str, str, str]:
    """Return the finite word, what closes the main clause, and a separable prefix."""
    person = person_of(clause.subject)
    forms, modal, tense = clause.verb.german, clause.modal, clause.tense
    if modal:
        return modal.german[tense == "past"][person], forms.infinitive, ""
    if tense == "future":
        return german_forms.WERDEN[person], forms.infinitive, ""
    if tense == "perfect":
        auxiliary = german_forms.PERFECT_AUXILIARIES[forms.auxiliary]
        return auxiliary[person], forms.participle, ""
    finite = (forms.past if tense == "past" else forms.present)[person]
    return finite, forms.prefix, forms.prefix


def middle_words(clause: Clause) -> list[str]:
    """Return what stands between the finite verb (or subject) and the closing verbs.

    Pronouns come first, the accusative before the dative; then time, frequency, the
    dative, the accusative, "nicht", manner, place and predicate. An indefinite object
    turns "nicht" into "kein".
    """
    direct, indirect = clause.direct, clause.indirect
    negates_object = clause.is_negated and is_indefinite(direct)
    pronouns: list[str] = []
    objects: list[str] = []
    if indirect:
        place = pronouns if isinstance(indirect, Pronoun) else objects
        place.append(say_phrase(indirect, _DATIVE))
    if isinstance(direct, Pronoun):
        pronouns.insert(0, say_phrase(direct, clause.verb.case))
    elif direct:
        if negates_object and isinstance(direct, NounPhrase):
            direct = direct._replace(determiner=NO)
        objects.append(say_phrase(direct, clause.verb.case))
    words = pronouns
    if clause.time:
        words.append(clause.time.german)
    if clause.frequency:
        words.append(clause.frequency.german)
    words += objects
    if clause.is_negated and not negates_object:
        words.append("nicht")
    if clause.manner:
        words.append(clause.manner.german)
    if clause.place:
        words.append(say_prepositional(clause.place))
    if clause.predicate:
        words += [clause.predicate.degree[1], clause.predicate.adjective.german]
    return words


def _end(clause: Clause) -> str:
    """Return the clauses behind the closing verbs."""
    words = ""
    if clause.complement:
        words = f", {verb_final(clause.complement, 'dass')} ,"
    if clause.adjunct:
        words += f", {_subordinate(clause.adjunct)} ,"
    return words


def _subordinate(adjunct: Subordinate) -> str:
    return verb_final(adjunct.clause, adjunct.german)


def say_prepositional(phrase: PrepositionalPhrase) -> str:
    """Return a preposition with its noun phrase, melted with the article if they do.

    A relative clause points back at the article, which then stays whole: "in dem Haus,
    das …".
    """
    words = f"{phrase.german} {say_phrase(phrase.phrase, phrase.case)}"
    inner = phrase.phrase
    if inner.determiner.is_article and not isinstance(inner.attribute, Relative):
        preposition, article, rest = words.split(" ", 2)
        melted = german_forms.CONTRACTIONS.get(f"{preposition} {article}")
        return f"{melted} {rest}" if melted else words
    return words


def say_phrase(phrase: Phrase, case: Case) -> str:
    """Return a noun phrase or pronoun in a case."""
    if isinstance(phrase, NounPhrase):
        return _noun_phrase(phrase, case)
    if isinstance(phrase, Pronoun):
        return phrase.german[case]
    if isinstance(phrase, Pair):
        first = _noun_phrase(phrase.first, case)
        return f"{first} und {_noun_phrase(phrase.second, case)}"
    return ""


def _noun_phrase(phrase: NounPhrase, case: Case) -> str:
    noun, determiner, is_plural, adjective, attribute = phrase
    column = german_forms.PLURAL_COLUMN if is_plural else noun.column
    words = noun.german[is_plural][case]
    if adjective:
        words = f"{adjective.stem}{determiner.endings[column][case]} {words}"
    article = determiner.german[column][case]
    if article:
        words = f"{article} {words}"
    if attribute is None:
        return words
    if isinstance(attribute, Relative):
        return f"{words} {_relative(attribute, column)}"
    return f"{words} {say_prepositional(attribute)}"


def _relative(relative: Relative, column: int) -> str:
    role, clause, (_, preposition) = relative
    if role == "subject":
        case = _NOMINATIVE
    elif role == "direct":
        case = clause.verb.case
    else:
        case = _DATIVE
    pronoun = german_forms.RELATIVE_PRONOUNS[column][case]
    opening = f"{preposition} {pronoun}" if preposition else pronoun
    return f", {verb_final(clause, opening)} ,"
