"""A worker that measures nothing: ``fake_worker.py BEHAVIOUR SECONDS``, with the protocol of ``perf.worker``.

Behaviours: good, wrong and nan (outputs), cannot, fails; after three turns: dies, crashes (by a signal), hangs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import numpy as np


def main() -> None:
    behaviour, seconds = sys.argv[1], float(sys.argv[2])
    turns, rows = 0, 1
    for line in sys.stdin:
        message = json.loads(line)
        answer: dict[str, Any] = {"ok": True}
        match message["do"]:
            case "hello":
                answer["versions"] = {behaviour: "1.0"}
            case "prepare":
                rows = message["case"]["params"].get("rows", 1)
                answer |= prepared(behaviour, message, rows)
            case "turn":
                turns += 1
                if behaviour == "dies" and turns > 3:
                    print("out of luck", file=sys.stderr, flush=True)
                    os._exit(7)
                if behaviour == "crashes" and turns > 3:
                    os.kill(os.getpid(), signal.SIGSEGV)
                if behaviour == "hangs" and turns > 3:
                    time.sleep(600)
                answer |= {"seconds": seconds * rows * (1 + turns % 2 / 10), "cpu": seconds * rows}
        print(json.dumps(answer), flush=True)


def prepared(behaviour: str, message: dict[str, Any], rows: int) -> dict[str, Any]:
    if behaviour == "cannot":
        return {"ok": False, "cannot": True, "error": "has no such operator"}
    if behaviour == "fails":
        return {"ok": False, "cannot": False, "error": "ValueError: broken"}
    value = np.arange(rows, dtype=np.float32) + {"wrong": 1, "nan": np.nan}.get(behaviour, 0)
    np.savez(message["outputs"], y=value)
    return {"seconds": 0.0, "note": f"{rows} rows"}


main()
