"""Whole sentences, built from structures and compared with pairs written by hand."""

import pytest

from tests.grammar.builders import (
    ACCUSATIVE,
    CHILD,
    DATIVE,
    IN_GARDEN,
    MAN,
    OFTEN,
    TEACHER,
    TODAY,
    TOO,
    WOMAN,
    YESTERDAY,
    be,
    clause,
    np,
    pp,
    that,
)
from transformer_jax.grammar import english, german, modals, structures
from transformer_jax.grammar.structures import (
    HE,
    IT,
    SHE,
    THEY,
    WE,
    A,
    I,
    QuestionWord,
    Relative,
    Sentence,
    Subordinate,
    Trace,
)

BUYS = clause(MAN, "buy", "past", direct=np("book", A), time=YESTERDAY)
READS = clause(WOMAN, "read", direct=np("newspaper"), place=IN_GARDEN)
MET = clause(HE, "meet", "past", direct=SHE)

FRONTED = [
    (
        Sentence(BUYS, "time"),
        "Yesterday the man bought a book.",
        "Gestern kaufte der Mann ein Buch.",
    ),
    (
        Sentence(BUYS),
        "The man bought a book yesterday.",
        "Der Mann kaufte gestern ein Buch.",
    ),
    (
        Sentence(READS, "place"),
        "In the garden the woman reads the newspaper.",
        "Im Garten liest die Frau die Zeitung.",
    ),
    (
        Sentence(
            clause(CHILD, "fall asleep", "perfect", time=TODAY, place=IN_GARDEN), "time"
        ),
        "Today the child has fallen asleep in the garden.",
        "Heute ist das Kind im Garten eingeschlafen.",
    ),
    (
        Sentence(clause(MAN, "visit", direct=np("uncle"), frequency=OFTEN)),
        "The man often visits the uncle.",
        "Der Mann besucht oft den Onkel.",
    ),
    (
        Sentence(clause(MAN, "visit", "perfect", direct=SHE, frequency=OFTEN)),
        "The man has often visited her.",
        "Der Mann hat sie oft besucht.",
    ),
]


def weil(inner):
    return Subordinate("because", "weil", inner)


SUBORDINATE = [
    (
        Sentence(clause(CHILD, "cry", adjunct=weil(be(IT[2], "tired")))),
        "The child cries because it is tired.",
        "Das Kind weint, weil es müde ist.",
    ),
    (
        Sentence(
            clause(MAN, "stay", place=IN_GARDEN, adjunct=weil(clause(HE, "work"))),
            "adjunct",
        ),
        "Because he works, the man stays in the garden.",
        "Weil er arbeitet, bleibt der Mann im Garten.",
    ),
    (
        Sentence(clause(SHE, "laugh", "past", adjunct=Subordinate("when", "als", MET))),
        "She laughed when he met her.",
        "Sie lachte, als er sie traf.",
    ),
    (
        Sentence(
            clause(
                SHE,
                "sleep",
                adjunct=Subordinate(
                    "although", "obwohl", clause(HE, "call", direct=SHE)
                ),
            )
        ),
        "She sleeps, although he calls her.",
        "Sie schläft, obwohl er sie anruft.",
    ),
    (
        Sentence(
            clause(
                TEACHER,
                that("know"),
                complement=clause(CHILD, "get up", modal=modals.CAN),
            )
        ),
        "The teacher knows that the child can get up.",
        "Der Lehrer weiß, dass das Kind aufstehen kann.",
    ),
    (
        Sentence(
            clause(
                SHE,
                that("say"),
                "perfect",
                complement=clause(MAN, "sell", "perfect", direct=np("house")),
            )
        ),
        "She has said that the man has sold the house.",
        "Sie hat gesagt, dass der Mann das Haus verkauft hat.",
    ),
    (
        Sentence(
            clause(
                HE,
                that("believe"),
                complement=clause(I, "see", is_negated=True, direct=np("dog", A)),
            )
        ),
        "He believes that I don't see a dog.",
        "Er glaubt, dass ich keinen Hund sehe.",
    ),
]

SLEEPS = clause(Trace(1), "sleep", "past")


def relative(words, role, inner, preposition=("", "")):
    return np(words, attribute=Relative(role, inner, preposition))


RELATIVE = [
    (
        clause(relative("man", "subject", SLEEPS), "laugh", "past"),
        "The man who slept laughed.",
        "Der Mann, der schlief, lachte.",
    ),
    (
        clause(relative("cat", "subject", SLEEPS), "disappear", "past"),
        "The cat that slept disappeared.",
        "Die Katze, die schlief, verschwand.",
    ),
    (
        clause(SHE, "know", direct=relative("child", "subject", SLEEPS)),
        "She knows the child who slept.",
        "Sie kennt das Kind, das schlief.",
    ),
    (
        clause(relative("boy", "direct", clause(I, "see")), "cry"),
        "The boy whom I see cries.",
        "Der Junge, den ich sehe, weint.",
    ),
    (
        clause(relative("friend", "direct", clause(I, "help")), "cry"),
        "The friend whom I help cries.",
        "Der Freund, dem ich helfe, weint.",
    ),
    (
        clause(relative("woman", "direct", clause(WE, "thank")), "laugh"),
        "The woman whom we thank laughs.",
        "Die Frau, der wir danken, lacht.",
    ),
    (
        clause(relative("child+", "direct", clause(HE, "trust")), "laugh"),
        "The children whom he trusts laugh.",
        "Die Kinder, denen er vertraut, lachen.",
    ),
    (
        clause(
            relative("aunt", "indirect", clause(HE, "send", direct=np("book"))), "laugh"
        ),
        "The aunt to whom he sends the book laughs.",
        "Die Tante, der er das Buch schickt, lacht.",
    ),
    (
        clause(
            HE,
            "visit",
            direct=relative("house", "place", clause(SHE, "live"), ("in", "in")),
        ),
        "He visits the house in which she lives.",
        "Er besucht das Haus, in dem sie wohnt.",
    ),
    (
        clause(
            HE,
            "read",
            "perfect",
            direct=relative("book", "direct", clause(SHE, "buy", "past")),
        ),
        "He has read the book that she bought.",
        "Er hat das Buch, das sie kaufte, gelesen.",
    ),
    (
        clause(
            SHE,
            "live",
            place=pp("in", "in", relative("house", "direct", clause(I, "see"))),
        ),
        "She lives in the house that I see.",
        "Sie wohnt in dem Haus, das ich sehe.",
    ),
]

WHO = {"nominative": "wer", "accusative": "wen", "dative": "wem"}


def who(case):
    return QuestionWord("who", WHO[case])


QUESTIONS = [
    (
        Sentence(clause(CHILD, "sleep"), "verb"),
        "Does the child sleep?",
        "Schläft das Kind?",
    ),
    (
        Sentence(clause(MAN, "call", "perfect", direct=np("doctor")), "verb"),
        "Has the man called the doctor?",
        "Hat der Mann den Arzt angerufen?",
    ),
    (
        Sentence(be(WOMAN, "ill", "past"), "verb"),
        "Was the woman ill?",
        "War die Frau krank?",
    ),
    (
        Sentence(
            clause(Trace(1), "read", direct=np("book")),
            question=who("nominative"),
            asks_subject=True,
        ),
        "Who reads the book?",
        "Wer liest das Buch?",
    ),
    (
        Sentence(clause(MAN, "see", "past"), question=who("accusative")),
        "Who did the man see?",
        "Wen sah der Mann?",
    ),
    (
        Sentence(clause(MAN, "help"), question=who("dative")),
        "Who does the man help?",
        "Wem hilft der Mann?",
    ),
    (
        Sentence(clause(THEY, "eat"), question=QuestionWord("what", "was")),
        "What do they eat?",
        "Was essen sie?",
    ),
    (
        Sentence(clause(SHE, "go"), question=QuestionWord("where", "wohin")),
        "Where does she go?",
        "Wohin geht sie?",
    ),
    (
        Sentence(clause(SHE, "live", "past"), question=QuestionWord("where", "wo")),
        "Where did she live?",
        "Wo wohnte sie?",
    ),
    (
        Sentence(
            clause(np("train"), "depart", "future"),
            question=QuestionWord("when", "wann"),
        ),
        "When will the train depart?",
        "Wann wird der Zug abfahren?",
    ),
    (
        Sentence(
            clause(CHILD, "cry", "perfect"), question=QuestionWord("why", "warum")
        ),
        "Why has the child cried?",
        "Warum hat das Kind geweint?",
    ),
    (
        Sentence(
            clause(WOMAN, "buy"),
            question=np("coat", structures.WHICH),
            question_case=ACCUSATIVE,
        ),
        "Which coat does the woman buy?",
        "Welchen Mantel kauft die Frau?",
    ),
    (
        Sentence(
            clause(HE, "follow", "perfect"),
            question=np("student", structures.WHICH),
            question_case=DATIVE,
        ),
        "Which student has he followed?",
        "Welchem Studenten ist er gefolgt?",
    ),
]

AND, BUT = (" and", " und"), (", but", ", aber")
COORDINATION = [
    (
        Sentence(
            clause(MAN, "read"), conjunction=BUT, conjunct=clause(WOMAN, "get up")
        ),
        "The man reads, but the woman gets up.",
        "Der Mann liest, aber die Frau steht auf.",
    ),
    (
        Sentence(
            clause(MAN, "buy", "past", direct=np("lamp", A)),
            conjunction=AND,
            conjunct=clause(Trace(1), "give", "past", indirect=CHILD, direct=IT[1]),
        ),
        "The man bought a lamp and gave it to the child.",
        "Der Mann kaufte eine Lampe und gab sie dem Kind.",
    ),
    (
        Sentence(
            clause(np("girl+"), "sing", direct=np("song", A)),
            conjunction=AND,
            conjunct=clause(Trace(2), "dance"),
        ),
        "The girls sing a song and dance.",
        "Die Mädchen singen ein Lied und tanzen.",
    ),
]

# The animal is neuter, the street feminine.
CROSSES = clause(np("animal"), "cross", "past", is_negated=True, direct=np("street"))
CLASSICS = [
    (
        Sentence(CROSSES._replace(adjunct=weil(be(IT[2], "tired", "past", TOO)))),
        "The animal didn't cross the street because it was too tired.",
        "Das Tier überquerte die Straße nicht, weil es zu müde war.",
    ),
    (
        Sentence(CROSSES._replace(adjunct=weil(be(IT[1], "wide", "past", TOO)))),
        "The animal didn't cross the street because it was too wide.",
        "Das Tier überquerte die Straße nicht, weil sie zu breit war.",
    ),
]

CASES = [
    *((Sentence(found), *pair) for found, *pair in RELATIVE),
    *FRONTED,
    *SUBORDINATE,
    *QUESTIONS,
    *COORDINATION,
    *CLASSICS,
]
SOURCES = [source for _, source, _ in CASES]


@pytest.mark.parametrize(("sentence", "source", "target"), CASES, ids=SOURCES)
def test_a_structure_is_said_in_both_languages(sentence, source, target):
    assert english.say_sentence(sentence) == source
    assert german.say_sentence(sentence) == target


def test_enough_sentences_are_checked_by_hand():
    assert len(set(SOURCES)) == len(CASES) >= 40
