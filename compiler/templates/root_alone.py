"""A root without what is fused behind it, for results that cannot be seen in the shape that its kernel computes."""

from __future__ import annotations

from ..codegen.epilogue import Epilogue
from ..views import View


class RootAlone(Epilogue):
    """The epilogue of a root by itself, whose result goes to a place of its own."""

    def __init__(self, whole: Epilogue, place: View) -> None:
        self.node, self.root, self.nodes = whole.node, whole.root, ()
        self.operand_values = whole.operand_values
        self.extras, self.results = [], [(whole.root.output, place)]
