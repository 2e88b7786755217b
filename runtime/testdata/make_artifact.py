"""Makes an artifact directory from a hand-written manifest and a compiled kernel.

usage: make_artifact.py MANIFEST.json KERNEL.so DIRECTORY [CUBIN]

Fills in the architecture, the kernel's size and fingerprint and the manifest's own checksum. An implementation of the
format that is independent of the runtime's, so that the tests compare two. With a cubin the artifact is one of the
target cuda, and the kernel describes it only.
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


def main(template, kernel, directory, cubin=None):
    with open(template, encoding="utf-8") as file:
        manifest = json.loads(file.read().replace("@ARCH@", platform.machine()))
    os.makedirs(directory, exist_ok=True)
    sources = {manifest["kernel"]: kernel}
    if cubin:
        del manifest["cpu"]
        manifest["target"] = "cuda"
        manifest["kernel"] = "explain.so"
        manifest["cuda"] = {"threads": 64, "shared_bytes": 1024,
                            "cubins": [{"arch": "sm_90a", "file": "kernel.sm_90a.cubin"}]}
        sources = {"explain.so": kernel, "kernel.sm_90a.cubin": cubin}
    manifest["files"] = {}
    for name, source in sources.items():
        shutil.copyfile(source, os.path.join(directory, name))
        with open(source, "rb") as file:
            content = file.read()
        manifest["files"][name] = {"bytes": len(content), "fnv1a64": fnv1a64(content)}
    manifest["checksum"] = "0" * 16
    text = json.dumps(manifest, indent=2) + "\n"
    digits = fnv1a64(text.encode())
    with open(os.path.join(directory, "manifest.json"), "w", encoding="utf-8") as file:
        file.write(text.replace(f'"checksum": "{"0" * 16}"', f'"checksum": "{digits}"'))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
