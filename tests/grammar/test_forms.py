"""Word forms of both languages against tables written by hand."""

import pytest

from transformer_jax.grammar import english_forms, lexicon, modals, structures
from transformer_jax.grammar.german_forms import (
    HABEN,
    RELATIVE_PRONOUNS,
    SEIN,
    WERDEN,
    Case,
)

# Masculine, feminine, neuter, plural; nominative, accusative, dative.
ARTICLES = {
    "THE": ("der den dem", "die die der", "das das dem", "die die den"),
    "THIS": (
        "dieser diesen diesem",
        "diese diese dieser",
        "dieses dieses diesem",
        "diese diese diesen",
    ),
    "WHICH": (
        "welcher welchen welchem",
        "welche welche welcher",
        "welches welches welchem",
        "welche welche welchen",
    ),
    "NO": (
        "kein keinen keinem",
        "keine keine keiner",
        "kein kein keinem",
        "keine keine keinen",
    ),
    "MY": (
        "mein meinen meinem",
        "meine meine meiner",
        "mein mein meinem",
        "meine meine meinen",
    ),
    "OUR": (
        "unser unseren unserem",
        "unsere unsere unserer",
        "unser unser unserem",
        "unsere unsere unseren",
    ),
}
SINGULAR_ARTICLES = {
    "A": ("ein einen einem", "eine eine einer", "ein ein einem"),
    "EVERY": ("jeder jeden jedem", "jede jede jeder", "jedes jedes jedem"),
    "HIS": ("sein seinen seinem", "seine seine seiner", "sein sein seinem"),
    "HER": ("ihr ihren ihrem", "ihre ihre ihrer", "ihr ihr ihrem"),
    "THEIR": ("ihr ihren ihrem", "ihre ihre ihrer", "ihr ihr ihrem"),
}
PLURAL_ARTICLES = {
    "ALL": "alle alle allen",
    "MANY": "viele viele vielen",
    "SOME": "einige einige einigen",
    "TWO": "zwei zwei zwei",
    "THREE": "drei drei drei",
    "FOUR": "vier vier vier",
}


@pytest.mark.parametrize("name", ARTICLES)
def test_articles_decline_in_all_genders_and_in_the_plural(name):
    table = getattr(structures, name).german
    assert tuple(" ".join(row) for row in table) == ARTICLES[name]


@pytest.mark.parametrize("name", SINGULAR_ARTICLES)
def test_articles_decline_in_the_singular(name):
    table = getattr(structures, name).german[:3]
    assert tuple(" ".join(row) for row in table) == SINGULAR_ARTICLES[name]


@pytest.mark.parametrize("name", PLURAL_ARTICLES)
def test_articles_decline_in_the_plural(name):
    assert " ".join(getattr(structures, name).german[3]) == PLURAL_ARTICLES[name]


def test_relative_pronouns_decline():
    assert RELATIVE_PRONOUNS == (
        ("der", "den", "dem"),
        ("die", "die", "der"),
        ("das", "das", "dem"),
        ("die", "die", "denen"),
    )


# The adjective "alt" by what stands before it.
ADJECTIVES = {
    "THE": (
        "alte alten alten",
        "alte alte alten",
        "alte alte alten",
        "alten alten alten",
    ),
    "NO": (
        "alter alten alten",
        "alte alte alten",
        "altes altes alten",
        "alten alten alten",
    ),
    "BARE": (
        "alter alten altem",
        "alte alte alter",
        "altes altes altem",
        "alte alte alten",
    ),
}
LIKE = {"THIS": "THE", "EVERY": "THE", "WHICH": "THE", "ALL": "THE", "A": "NO"}
LIKE |= {"MY": "NO", "HIS": "NO", "HER": "NO", "OUR": "NO", "THEIR": "NO"}


@pytest.mark.parametrize("name", [*ADJECTIVES, *LIKE])
def test_adjectives_end_as_their_determiner_asks(name):
    endings = getattr(structures, name).endings
    table = tuple(" ".join("alt" + ending for ending in row) for row in endings)
    assert table == ADJECTIVES[LIKE.get(name, name)]


@pytest.mark.parametrize("name", ["MANY", "SOME", "TWO", "THREE", "FOUR"])
def test_adjectives_are_strong_after_numbers(name):
    assert getattr(structures, name).endings[3] == ("e", "e", "en")


@pytest.mark.parametrize(
    ("pronoun", "english", "german"),
    [
        ("I", "I me", "ich mich mir"),
        ("HE", "he him", "er ihn ihm"),
        ("SHE", "she her", "sie sie ihr"),
        ("WE", "we us", "wir uns uns"),
        ("THEY", "they them", "sie sie ihnen"),
    ],
)
def test_pronouns_decline(pronoun, english, german):
    found = getattr(structures, pronoun)
    assert (" ".join(found.english), " ".join(found.german)) == (english, german)


def test_it_has_the_gender_of_the_german_noun():
    assert [" ".join(pronoun.german) for pronoun in structures.IT] == [
        "er ihn ihm",
        "sie sie ihr",
        "es es ihm",
    ]


@pytest.mark.parametrize(
    ("english", "singular", "plural"),
    [
        ("man", "Mann Mann Mann", "Männer Männer Männern"),
        ("woman", "Frau Frau Frau", "Frauen Frauen Frauen"),
        ("child", "Kind Kind Kind", "Kinder Kinder Kindern"),
        ("girl", "Mädchen Mädchen Mädchen", "Mädchen Mädchen Mädchen"),
        ("boy", "Junge Jungen Jungen", "Jungen Jungen Jungen"),
        ("student", "Student Studenten Studenten", "Studenten Studenten Studenten"),
        ("neighbour", "Nachbar Nachbarn Nachbarn", "Nachbarn Nachbarn Nachbarn"),
        ("hero", "Held Helden Helden", "Helden Helden Helden"),
        ("bear", "Bär Bären Bären", "Bären Bären Bären"),
        ("lion", "Löwe Löwen Löwen", "Löwen Löwen Löwen"),
        ("name", "Name Namen Namen", "Namen Namen Namen"),
        ("teacher", "Lehrer Lehrer Lehrer", "Lehrer Lehrer Lehrern"),
        ("apple", "Apfel Apfel Apfel", "Äpfel Äpfel Äpfeln"),
        ("car", "Auto Auto Auto", "Autos Autos Autos"),
        ("museum", "Museum Museum Museum", "Museen Museen Museen"),
        ("garden", "Garten Garten Garten", "Gärten Gärten Gärten"),
        ("house", "Haus Haus Haus", "Häuser Häuser Häusern"),
    ],
)
def test_nouns_decline(english, singular, plural):
    found = lexicon.noun_named(english).german
    assert (" ".join(found[0]), " ".join(found[1])) == (singular, plural)


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("city", "cities"),
        ("boy", "boys"),
        ("box", "boxes"),
        ("church", "churches"),
        ("knife", "knives"),
        ("mouse", "mice"),
        ("potato", "potatoes"),
        ("fisherman", "fishermen"),
        ("witness", "witnesses"),
    ],
)
def test_english_nouns_have_their_plurals(singular, plural):
    assert lexicon.noun_named(singular).english == (singular, plural)


# ich, third singular, plural of present and past; participle, auxiliary.
GERMAN_VERBS = {
    ("laugh", ""): ("lache lacht lachen", "lachte lachte lachten", "gelacht", "haben"),
    ("work", ""): (
        "arbeite arbeitet arbeiten",
        "arbeitete arbeitete arbeiteten",
        "gearbeitet",
        "haben",
    ),
    ("smile", ""): (
        "lächle lächelt lächeln",
        "lächelte lächelte lächelten",
        "gelächelt",
        "haben",
    ),
    ("feed", ""): (
        "füttere füttert füttern",
        "fütterte fütterte fütterten",
        "gefüttert",
        "haben",
    ),
    ("read", ""): ("lese liest lesen", "las las lasen", "gelesen", "haben"),
    ("give", ""): ("gebe gibt geben", "gab gab gaben", "gegeben", "haben"),
    ("sleep", ""): ("schlafe schläft schlafen", "schlief schlief schliefen")
    + ("geschlafen", "haben"),
    ("run", ""): ("laufe läuft laufen", "lief lief liefen", "gelaufen", "sein"),
    ("know", ""): ("kenne kennt kennen", "kannte kannte kannten", "gekannt", "haben"),
    ("visit", ""): (
        "besuche besucht besuchen",
        "besuchte besuchte besuchten",
        "besucht",
        "haben",
    ),
    ("repair", ""): (
        "repariere repariert reparieren",
        "reparierte reparierte reparierten",
        "repariert",
        "haben",
    ),
    ("forget", ""): (
        "vergesse vergisst vergessen",
        "vergaß vergaß vergaßen",
        "vergessen",
        "haben",
    ),
    ("stay", ""): ("bleibe bleibt bleiben", "blieb blieb blieben", "geblieben", "sein"),
    ("call", "an"): ("rufe ruft rufen", "rief rief riefen", "angerufen", "haben"),
    ("invite", "ein"): ("lade lädt laden", "lud lud luden", "eingeladen", "haben"),
    ("get up", "auf"): (
        "stehe steht stehen",
        "stand stand standen",
        "aufgestanden",
        "sein",
    ),
    ("get to know", "kennen"): (
        "lerne lernt lernen",
        "lernte lernte lernten",
        "kennengelernt",
        "haben",
    ),
    ("come back", "zurück"): (
        "komme kommt kommen",
        "kam kam kamen",
        "zurückgekommen",
        "sein",
    ),
}


@pytest.mark.parametrize("name", GERMAN_VERBS, ids=lambda name: name[0])
def test_german_verbs_conjugate(name):
    english, prefix = name
    forms = lexicon.verb_named(english).german
    found = (" ".join(forms.present), " ".join(forms.past))
    assert found + (forms.participle, forms.auxiliary) == GERMAN_VERBS[name]
    assert forms.prefix == prefix
    assert forms.infinitive == prefix + forms.present[2]


def test_to_know_that_has_the_present_of_its_own():
    (forms,) = [v.german for v in lexicon.verbs() if v.german.infinitive == "wissen"]
    assert forms.present == ("weiß", "weiß", "wissen")
    assert forms.past == ("wusste", "wusste", "wussten")


def test_auxiliaries_conjugate():
    assert SEIN.present + SEIN.past == ("bin", "ist", "sind", "war", "war", "waren")
    assert HABEN.present == ("habe", "hat", "haben")
    assert HABEN.past == ("hatte", "hatte", "hatten")
    assert WERDEN == ("werde", "wird", "werden")


@pytest.mark.parametrize(
    ("name", "english", "german"),
    [
        ("CAN", "can could", "kann kann können konnte konnte konnten"),
        ("MUST", "has to had to", "muss muss müssen musste musste mussten"),
        ("WANT", "wants to wanted to", "will will wollen wollte wollte wollten"),
        ("MAY", "is was", "darf darf dürfen durfte durfte durften"),
        ("SHOULD", "should should", "sollte sollte sollten sollte sollte sollten"),
    ],
)
def test_modals_conjugate(name, english, german):
    modal = getattr(modals, name)
    assert " ".join(forms[structures.THIRD] for forms in modal.english) == english
    assert " ".join(modal.german[0] + modal.german[1]) == german


@pytest.mark.parametrize(
    ("verb", "third", "past", "participle"),
    [
        ("carry", "carries", "carried", "carried"),
        ("wash", "washes", "washed", "washed"),
        ("go", "goes", "went", "gone"),
        ("play", "plays", "played", "played"),
        ("smile", "smiles", "smiled", "smiled"),
        ("write", "writes", "wrote", "written"),
        ("get to know", "gets to know", "got to know", "got to know"),
    ],
)
def test_english_verbs_conjugate(verb, third, past, participle):
    forms = lexicon.verb_named(verb).english
    assert (forms.present[1], forms.past[1], forms.participle) == (
        third,
        past,
        participle,
    )


def test_the_indefinite_article_hears_vowels():
    assert english_forms.indefinite_article("apple") == "an"
    assert english_forms.indefinite_article("old man") == "an"
    assert english_forms.indefinite_article("big apple") == "a"


def test_the_lexicon_is_as_large_as_promised():
    assert len(lexicon.nouns()) >= 150
    assert len({verb.german.infinitive for verb in lexicon.verbs()}) >= 60
    assert len(lexicon.adjectives()) >= 40
    assert {noun.column for noun in lexicon.nouns()} == {0, 1, 2}
    assert sum(bool(verb.german.prefix) for verb in lexicon.verbs()) >= 10
    assert sum(verb.case == Case.DATIVE for verb in lexicon.verbs()) >= 5


def test_a_german_noun_means_one_thing():
    names = [noun.german[0][0] for noun in lexicon.nouns()]
    assert len(names) == len(set(names))


def test_every_noun_is_the_subject_or_object_of_some_verb():
    used = {noun for verb in lexicon.verbs() for noun in verb.subjects + verb.objects}
    places = {noun for verb in lexicon.verbs() for noun in verb.places}
    clues = {noun for noun in lexicon.nouns() if "clue" in noun.classes}
    assert set(lexicon.nouns()) - used - places - clues == set()
