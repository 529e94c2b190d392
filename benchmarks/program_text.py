"""What XLA made of a program, read from its text: kernels and the bytes they move."""

import collections
import dataclasses
import re

_PRODUCT = re.compile(
    r"dot_general.*: \(tensor<[0-9x]+x(\w+)>, tensor<[0-9x]+x(\w+)>\) -> "
    r"tensor<[0-9x]+x(\w+)>"
)
_COMPUTATION = re.compile(r"^(ENTRY )?%?(\S+) \(.*\{$")
_INSTRUCTION = re.compile(r"^ +(?:ROOT )?%?(\S+) = (.+?) ([a-z][a-z0-9-]*)\((.*)$")
_SHAPE = re.compile(r"\b(pred|[a-z]+(\d+)\w*)\[([\d,]*)\]")
_CALLED = re.compile(r"(?:to_apply|body|calls)=%?([\w.-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
# What names memory without touching it, or waits for what another began.
_FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "partition-id",
    "opt-barrier",
}


@dataclasses.dataclass(frozen=True)
class Kernels:
    """The kernels of one run of a program; those of a loop count once a round.

    Attributes:
      by_kind: how many of each: "fusion", "custom-call", "copy", ...
      num_bytes: of their operands and results, as if each kernel read all of an operand
        and nothing stayed in a cache.
      num_transposing: kernels that XLA named after a transpose or a copy.
    """

    by_kind: collections.Counter[str]
    num_bytes: int
    num_transposing: int

    @property
    def number(self) -> int:
        return self.by_kind.total()


def product_types(lowered: str) -> list[tuple[str, str, str]]:
    """Return the types of factor, factor and result of each product, before XLA.

    Args:
      lowered: text of a lowered program.

    Raises:
      ValueError: if a product was not understood.
    """
    found = [(left, right, result) for left, right, result in _PRODUCT.findall(lowered)]
    if len(found) != lowered.count("dot_general"):
        raise ValueError(
            f"{lowered.count('dot_general')} products, of which {len(found)} could be "
            "read. Their text has changed: mend _PRODUCT."
        )
    return found


def read_kernels(compiled: str) -> Kernels:
    """Count what a compiled program launches.

    Args:
      compiled: its text.
    """
    computations: dict[str, list[re.Match[str]]] = {}
    entry, current = "", ""
    for line in compiled.splitlines():
        if match := _COMPUTATION.match(line):
            current = match[2]
            computations[current] = []
            entry = current if match[1] else entry
        elif current and (match := _INSTRUCTION.match(line)):
            computations[current].append(match)

    def count(name: str) -> Kernels:
        shapes = {match[1]: match[2] for match in computations.get(name, [])}
        by_kind: collections.Counter[str] = collections.Counter()
        num_bytes = num_transposing = 0
        for instruction, shape, kind, rest in (
            m.groups() for m in computations.get(name, [])
        ):
            if kind in _FREE or kind.endswith(("-start", "-done", "-update")):
                continue
            if kind in ("while", "call", "conditional"):
                trips = int(match[1]) if (match := _TRIPS.search(rest)) else 1
                for called in _CALLED.findall(rest):
                    inner = count(called)
                    for inner_kind, number in inner.by_kind.items():
                        by_kind[inner_kind] += trips * number
                    num_bytes += trips * inner.num_bytes
                    num_transposing += trips * inner.num_transposing
                continue
            by_kind[kind] += 1
            num_transposing += "transpose" in instruction or "copy" in instruction
            operands = re.findall(r"%([\w.-]+)", rest.partition(")")[0])
            num_bytes += _bytes(shape)
            num_bytes += sum(_bytes(shapes.get(operand, "")) for operand in operands)
        return Kernels(by_kind, num_bytes, num_transposing)

    return count(entry)


def _bytes(shapes: str) -> int:
    """Return the bytes of a shape, or of all shapes of a tuple."""
    total = 0
    for name, bits, sizes in _SHAPE.findall(shapes):
        number = 1
        for size in filter(None, sizes.split(",")):
            number *= int(size)
        total += number * (1 if name == "pred" else max(int(bits) // 8, 1))
    return total
