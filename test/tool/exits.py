"""Runs a command and succeeds only if it ends with the given exit code: exits.py CODE COMMAND…"""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"{sys.argv[2]} ended with exit code {code}, required {sys.argv[1]}")
