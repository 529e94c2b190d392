"""Single clauses, built from structures and compared with pairs written by hand."""

import pytest

from tests.grammar.builders import (
    ACCUSATIVE,
    CHILD,
    DOG,
    IN_GARDEN,
    MAN,
    TEACHER,
    TO_HOUSE,
    TODAY,
    VERY,
    WOMAN,
    adverb,
    be,
    clause,
    np,
    pp,
)
from transformer_jax.grammar import english, german, modals, structures
from transformer_jax.grammar.structures import (
    BARE,
    HE,
    IT,
    SHE,
    THEY,
    WE,
    A,
    I,
    Pair,
    Sentence,
)

SIMPLE = [
    (
        clause(TEACHER, "read", direct=np("long story", A)),
        "The teacher reads a long story.",
        "Der Lehrer liest eine lange Geschichte.",
    ),
    (
        clause(WOMAN, "drink", direct=np("cold water", BARE)),
        "The woman drinks cold water.",
        "Die Frau trinkt kaltes Wasser.",
    ),
    (
        clause(DOG, "eat", "past", direct=np("meat")),
        "The dog ate the meat.",
        "Der Hund fraß das Fleisch.",
    ),
    (
        clause(MAN, "eat", "past", direct=np("meat")),
        "The man ate the meat.",
        "Der Mann aß das Fleisch.",
    ),
    (
        clause(CHILD, "help", direct=np("old neighbour", structures.HIS)),
        "The child helps his old neighbour.",
        "Das Kind hilft seinem alten Nachbarn.",
    ),
    (
        clause(WE, "follow", "past", direct=np("brave soldier+", structures.TWO)),
        "We followed two brave soldiers.",
        "Wir folgten zwei mutigen Soldaten.",
    ),
    (
        clause(MAN, "give", "past", indirect=np("boy"), direct=np("red apple", A)),
        "The man gave the boy a red apple.",
        "Der Mann gab dem Jungen einen roten Apfel.",
    ),
    (
        clause(MAN, "give", indirect=CHILD, direct=IT[1]),
        "The man gives it to the child.",
        "Der Mann gibt sie dem Kind.",
    ),
    (
        clause(WOMAN, "show", indirect=HE, direct=np("car")),
        "The woman shows him the car.",
        "Die Frau zeigt ihm das Auto.",
    ),
    (
        clause(np("friend", structures.MY), "call", direct=SHE),
        "My friend calls her.",
        "Mein Freund ruft sie an.",
    ),
    (
        clause(np("pupil+"), "turn off", "past", direct=np("lamp+", structures.ALL)),
        "The pupils turned off all lamps.",
        "Die Schüler schalteten alle Lampen aus.",
    ),
    (
        clause(MAN, "pick up", "past", direct=THEY),
        "The man picked them up.",
        "Der Mann holte sie ab.",
    ),
    (
        clause(CHILD, "look for", direct=HE),
        "The child looks for him.",
        "Das Kind sucht ihn.",
    ),
    (
        clause(I, "see", direct=np("bear", structures.EVERY)),
        "I see every bear.",
        "Ich sehe jeden Bären.",
    ),
    (
        clause(
            np("guest+", structures.MANY),
            "trust",
            direct=np("old king", structures.OUR),
        ),
        "Many guests trust our old king.",
        "Viele Gäste vertrauen unserem alten König.",
    ),
    (
        be(np("castle"), "high", degree=VERY),
        "The castle is very high.",
        "Das Schloss ist sehr hoch.",
    ),
    (
        clause(np("king"), "build", "past", direct=np("high tower", A)),
        "The king built a high tower.",
        "Der König baute einen hohen Turm.",
    ),
    (
        clause(np("aunt"), "buy", direct=np("expensive lamp", structures.THIS)),
        "The aunt buys this expensive lamp.",
        "Die Tante kauft diese teure Lampe.",
    ),
    (
        clause(Pair(MAN, WOMAN), "dance", place=pp("in", "in", np("dark kitchen"))),
        "The man and the woman dance in the dark kitchen.",
        "Der Mann und die Frau tanzen in der dunklen Küche.",
    ),
    (
        clause(np("woman", attribute=pp("with", "mit", np("hat"))), "laugh"),
        "The woman with the hat laughs.",
        "Die Frau mit dem Hut lacht.",
    ),
    (
        clause(CHILD, "go", place=pp("to", "zu", np("school"))),
        "The child goes to the school.",
        "Das Kind geht zur Schule.",
    ),
    (
        clause(np("bus"), "arrive", "past"),
        "The bus arrived.",
        "Der Bus kam an.",
    ),
    (
        clause(SHE, "travel", place=pp("to", "an", np("beach"), ACCUSATIVE)),
        "She travels to the beach.",
        "Sie reist an den Strand.",
    ),
    (
        clause(DOG, "sleep", place=pp("at", "an", np("lake"))),
        "The dog sleeps at the lake.",
        "Der Hund schläft am See.",
    ),
]

VERBS_AT_THE_END = [
    (
        clause(TEACHER, "read", "perfect", direct=np("book")),
        "The teacher has read the book.",
        "Der Lehrer hat das Buch gelesen.",
    ),
    (
        clause(WE, "go", "perfect", place=TO_HOUSE),
        "We have gone to the house.",
        "Wir sind ins Haus gegangen.",
    ),
    (
        clause(WOMAN, "visit", "perfect", direct=np("museum"), time=TODAY),
        "The woman has visited the museum today.",
        "Die Frau hat heute das Museum besucht.",
    ),
    (
        clause(THEY, "get up", "perfect"),
        "They have got up.",
        "Sie sind aufgestanden.",
    ),
    (
        clause(MAN, "invite", "future", direct=np("prince")),
        "The man will invite the prince.",
        "Der Mann wird den Prinzen einladen.",
    ),
    (
        clause(I, "write", modal=modals.WANT, direct=np("message", A)),
        "I want to write a message.",
        "Ich will eine Nachricht schreiben.",
    ),
    (
        clause(CHILD, "stay", "past", modal=modals.MUST, place=IN_GARDEN),
        "The child had to stay in the garden.",
        "Das Kind musste im Garten bleiben.",
    ),
    (
        clause(np("girl+"), "dance", modal=modals.MAY),
        "The girls are allowed to dance.",
        "Die Mädchen dürfen tanzen.",
    ),
    (
        clause(SHE, "help", modal=modals.SHOULD, direct=THEY),
        "She should help them.",
        "Sie sollte ihnen helfen.",
    ),
    (
        clause(HE, "pick up", "past", modal=modals.CAN, direct=SHE),
        "He could pick her up.",
        "Er konnte sie abholen.",
    ),
]

NEGATIONS = [
    (
        clause(CHILD, "sleep", is_negated=True),
        "The child doesn't sleep.",
        "Das Kind schläft nicht.",
    ),
    (
        clause(MAN, "read", is_negated=True, direct=np("book")),
        "The man doesn't read the book.",
        "Der Mann liest das Buch nicht.",
    ),
    (
        clause(MAN, "read", is_negated=True, direct=np("new book", A)),
        "The man doesn't read a new book.",
        "Der Mann liest kein neues Buch.",
    ),
    (
        clause(np("farmer+"), "see", is_negated=True, direct=np("wild horse+", BARE)),
        "The farmers don't see wild horses.",
        "Die Bauern sehen keine wilden Pferde.",
    ),
    (
        clause(SHE, "drink", "past", is_negated=True, direct=np("milk", BARE)),
        "She didn't drink milk.",
        "Sie trank keine Milch.",
    ),
    (
        clause(HE, "help", is_negated=True, direct=np("thief", A)),
        "He doesn't help a thief.",
        "Er hilft keinem Dieb.",
    ),
    (
        clause(HE, "call", is_negated=True, direct=np("doctor")),
        "He doesn't call the doctor.",
        "Er ruft den Arzt nicht an.",
    ),
    (
        clause(WE, "dance", "past", is_negated=True, place=IN_GARDEN),
        "We didn't dance in the garden.",
        "Wir tanzten nicht im Garten.",
    ),
    (
        clause(I, "wash", "perfect", is_negated=True, direct=np("car"), time=TODAY),
        "I haven't washed the car today.",
        "Ich habe heute das Auto nicht gewaschen.",
    ),
    (
        clause(I, "come back", "future", is_negated=True),
        "I won't come back.",
        "Ich werde nicht zurückkommen.",
    ),
    (
        be(WOMAN, "rich", "past", is_negated=True),
        "The woman wasn't rich.",
        "Die Frau war nicht reich.",
    ),
    (
        clause(CHILD, "run", is_negated=True, manner=adverb("quickly"), place=TO_HOUSE),
        "The child doesn't run quickly to the house.",
        "Das Kind läuft nicht schnell ins Haus.",
    ),
    (
        clause(np("guest", structures.NO), "come back", "past"),
        "No guest came back.",
        "Kein Gast kam zurück.",
    ),
    (
        clause(HE, "stay", modal=modals.MUST, is_negated=True, place=IN_GARDEN),
        "He doesn't have to stay in the garden.",
        "Er muss nicht im Garten bleiben.",
    ),
    (
        clause(SHE, "give", is_negated=True, indirect=HE, direct=np("key")),
        "She doesn't give him the key.",
        "Sie gibt ihm den Schlüssel nicht.",
    ),
]


CASES = SIMPLE + VERBS_AT_THE_END + NEGATIONS
SOURCES = [source for _, source, _ in CASES]


@pytest.mark.parametrize(("found", "source", "target"), CASES, ids=SOURCES)
def test_a_clause_is_said_in_both_languages(found, source, target):
    assert english.say_sentence(Sentence(found)) == source
    assert german.say_sentence(Sentence(found)) == target


def test_enough_clauses_are_checked_by_hand():
    assert len(set(SOURCES)) == len(CASES) >= 40
