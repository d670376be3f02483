"""Damaged images: thousands of random changes to every field are refused or placed, and the process lives."""

from __future__ import annotations

import pytest
from runtime_programs import run_python

from basalt.runtime.native.images import HANDLED

pytestmark = pytest.mark.skipif(not HANDLED, reason="linked images are for x86-64 Linux")

# In a process of its own, whose end would be seen. Nothing of what is placed is called: damaged code may do anything.
SCRIPT = """
import collections, os, random
import numpy as np
from machine_code import TEXT, assemble
from basalt.errors import ModelFormatError, UnsupportedError
from basalt.runtime.native import Area, Export, load_image
from basalt.runtime.native.linking import link

chance = random.Random(SEED)
framed = TEXT.replace(") {", ") uwtable {")
whole = link({"f": assemble(framed), "g": assemble(framed, "small", "pic"), "h": assemble(framed)})
LIMITS = [0, 1, 2, 3, 4, 7, 8, 4095, 4096, 4097, 1 << 30, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1 << 64, 1 << 80]
LIMITS += [whole.size, len(whole.content), whole.areas[1].offset, whole.areas[2].offset, whole.unwind[0]]

def number():
    value = chance.choice(LIMITS) * chance.choice((1, 1, -1))
    value += chance.randint(-9, 9) * chance.choice((0, 1, 1, 8, 4096))
    return chance.choice((float(value), str(value), None)) if chance.random() < 0.05 else value

def mutated_tuple(rows, kind):
    rows = [list(row) for row in rows]
    for _ in range(chance.randint(1, 3)):
        action = chance.randrange(5)
        if action == 0 and rows:
            rows.pop(chance.randrange(len(rows)))
        elif action == 1 and rows:
            rows.insert(chance.randrange(len(rows)), list(chance.choice(rows)))
        elif action == 2:
            chance.shuffle(rows)
        elif rows:
            row = chance.choice(rows)
            row[chance.randrange(len(row))] = number()
    try:
        return tuple(kind(*row) for row in rows)
    except TypeError:
        return tuple(tuple(row) for row in rows)

def mutated_table(table):
    table = table.copy()
    for _ in range(chance.randint(1, 4)):
        if not len(table):
            break
        row, column = chance.randrange(table.shape[0]), chance.randrange(table.shape[1])
        value = number()
        if isinstance(value, int):
            table[row, column] = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    action = chance.randrange(12)
    if action == 0:
        table = np.concatenate([table, table])
    elif action == 1:
        table = table[:, :-1]
    elif action == 2:
        table = table.astype(chance.choice((np.int32, np.float64, np.uint64, object)))
    elif action == 3:
        table = np.asfortranarray(table[::-1])
    elif action == 4:
        table = np.repeat(table, 2000, axis=0)
    return table

def mutated_content(content):
    content = content.copy()
    start, size = chance.choice([(0, len(content)), whole.unwind, whole.unwind])
    for _ in range(chance.randint(1, 6)):
        content[start + chance.randrange(size)] = chance.choice((0, 1, 4, 127, 128, 255, chance.randrange(256)))
    action = chance.randrange(10)
    if action == 0:
        content = content[: chance.randrange(len(content))]
    elif action == 1:
        content = np.concatenate([content, np.zeros(chance.choice((1, 4096, 1 << 20)), np.uint8)])
    elif action == 2:
        content = content.view(np.int8)
    return content

def mutated(image):
    fields = {
        "content": lambda: mutated_content(image.content),
        "areas": lambda: mutated_tuple(image.areas, Area),
        "relocations": lambda: mutated_table(image.relocations),
        "imports": lambda: chance.choice([(), ("cos",) * 3, ("system",), ("sin",), (None,), ("cos", "")]),
        "import_relocations": lambda: mutated_table(image.import_relocations),
        "exports": lambda: mutated_tuple(image.exports, Export),
        "unwind": lambda: (number(), number()) if chance.random() < 0.5 else (image.unwind[0], number()),
    }
    names = chance.sample(sorted(fields), chance.choice((1, 1, 1, 2, 3)))
    return image._replace(**{name: fields[name]() for name in names})

outcomes = collections.Counter()
for _ in range(COUNT):
    try:
        kept = load_image(mutated(whole))
        outcomes["placed"] += 1
    except (ModelFormatError, UnsupportedError) as error:
        outcomes[type(error).__name__] += 1
        assert str(error).startswith(("machine code: ", "object code asks for ")), error
del kept
image = load_image(whole)
assert image.nbytes == whole.size
print(outcomes["placed"] > COUNT // 100, outcomes["ModelFormatError"] > COUNT // 4, outcomes["UnsupportedError"] > 0)
print(outcomes)
"""


@pytest.mark.parametrize("debug", ["", "gdb"])
def test_random_changes(debug: str) -> None:
    script = SCRIPT.replace("SEED", f"{len(debug)}").replace("COUNT", "6000")
    assert run_python(script, timeout=600, BASALT_DEBUG=debug).splitlines()[0] == "True True True"
