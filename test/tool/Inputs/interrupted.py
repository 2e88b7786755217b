"""interrupted.py FOLDER COMMAND…: interrupts COMMAND, once with each signal, while `slow`, a compiler in FOLDER that never ends, runs.

The command must end by the signal, leave nothing in FOLDER that was not there, and no process of the compiler's behind.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])
slow, started = folder / "slow", folder / "started"
# A compiler is a program that starts others; the last ones do not end when they are asked to.
slow.write_text(f"""#!/bin/sh
(trap '' TERM; exec sleep 1000) &
sleep 1000 &
touch {started}
wait
""")
slow.chmod(0o755)
before = sorted(path.name for path in folder.iterdir())


def running():
    """Processes whose environment says that they come from this test."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"EVT_INTERRUPTED={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
        except OSError:
            pass
    return found


def as_usual():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    process = subprocess.Popen(sys.argv[2:], preexec_fn=as_usual, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "EVT_INTERRUPTED": str(folder), "TMPDIR": str(folder)})
    while not started.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.kill(process.pid, number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == -number, (process.returncode, said)
    assert not said, said
    assert not running(), running()
    started.unlink()
    left = sorted(path.name for path in folder.iterdir())
    assert left == before, left
