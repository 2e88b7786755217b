"""Makes an artifact directory from a hand-written manifest and a compiled kernel.

usage: make_artifact.py MANIFEST.json KERNEL.so DIRECTORY

Fills in the architecture, the kernel's size and fingerprint and the manifest's own checksum. An implementation of the
format that is independent of the runtime's, so that the tests compare two.
"""
import json
import os
import platform
import shutil
import sys


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main(template, kernel, directory):
    with open(template, encoding="utf-8") as file:
        manifest = json.loads(file.read().replace("@ARCH@", platform.machine()))
    os.makedirs(directory, exist_ok=True)
    shutil.copyfile(kernel, os.path.join(directory, manifest["kernel"]))
    with open(kernel, "rb") as file:
        content = file.read()
    manifest["files"] = {manifest["kernel"]: {"bytes": len(content), "fnv1a64": fnv1a64(content)}}
    manifest["checksum"] = "0" * 16
    text = json.dumps(manifest, indent=2) + "\n"
    digits = fnv1a64(text.encode())
    with open(os.path.join(directory, "manifest.json"), "w", encoding="utf-8") as file:
        file.write(text.replace(f'"checksum": "{"0" * 16}"', f'"checksum": "{digits}"'))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
