"""The modal verbs: can, have to, want to, be allowed to, should."""

from transformer_jax.grammar.structures import Modal

CAN = Modal(
    (("can",) * 3, ("could",) * 3),
    True,
    "",
    "",
    (("kann", "kann", "können"), ("konnte", "konnte", "konnten")),
)
MUST = Modal(
    (("have to", "has to", "have to"), ("had to",) * 3),
    False,
    "have to",
    "",
    (("muss", "muss", "müssen"), ("musste", "musste", "mussten")),
)
WANT = Modal(
    (("want to", "wants to", "want to"), ("wanted to",) * 3),
    False,
    "want to",
    "",
    (("will", "will", "wollen"), ("wollte", "wollte", "wollten")),
)
MAY = Modal(
    (("am", "is", "are"), ("was", "was", "were")),
    True,
    "",
    "allowed to",
    (("darf", "darf", "dürfen"), ("durfte", "durfte", "durften")),
)
SHOULD = Modal(
    (("should",) * 3, ("should",) * 3),
    True,
    "",
    "",
    (("sollte", "sollte", "sollten"),) * 2,
)
MODALS = (CAN, MUST, WANT, MAY, SHOULD)
