#!/usr/bin/python3
"""The ./evt wrapper, in a folder of its own with stand-ins for the programs that it calls."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import source_tree


class Wrapper(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "checkout"
        (self.root / "scripts").mkdir(parents=True)
        (self.root / "bin").mkdir()
        (self.root / "evt").write_text((source_tree.ROOT / "evt").read_text())
        (self.root / "scripts/packages").write_text("# list\nbuild  first  # reason\ntest  second\nbuild  third\n")
        self.log = self.root / "log"
        self.stand_in("id", "echo 0")
        self.stand_in("dpkg-query", '[[ ${!#} == first ]] && echo -n installed')
        self.stand_in("apt-get", f'echo "apt-get $*" >>{self.log}')
        self.stand_in("cmake", f'echo "cmake" >>{self.log}; touch {self.root}/build/build.ninja')
        self.stand_in("ninja", f'[[ $* == *" -n "* ]] && echo "ninja: no work to do." || echo "ninja $*" >>{self.log}')
        (self.root / "build/bin").mkdir(parents=True)
        self.stand_in("../build/bin/evt", 'printf "tool"; printf " [%s]" "$@"; exit 5')

    def stand_in(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def run_wrapper(self, *arguments):
        return subprocess.run(
            ["bash", str(self.root / "evt"), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}"})

    def logged(self):
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text.splitlines()

    def test_installs_once_configures_once_and_forwards(self):
        done = self.run_wrapper("run", "a b", "--x")
        self.assertEqual((done.returncode, done.stdout), (5, "tool [run] [a b] [--x]"))
        self.assertEqual(
            self.logged(), ["apt-get -q update", "apt-get -qy install --no-install-recommends third", "cmake"])
        again = self.run_wrapper("run")
        self.assertEqual((again.returncode, again.stdout, again.stderr), (5, "tool [run]", ""))
        self.assertEqual(self.logged(), [])

    def test_install_builds_and_takes_the_folder_from_where_it_was_called(self):
        self.run_wrapper("run")
        self.logged()
        self.stand_in("cmake", f'echo "cmake $*" >>{self.log}')
        done = self.run_wrapper("install", "some where")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "some where\n", ""))
        self.assertEqual(self.logged(), [f"cmake --install {self.root}/build --strip --prefix {os.getcwd()}/some where"])
        self.stand_in("cmake", "echo no space left; exit 1")
        done = self.run_wrapper("install", "/there")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr,
                         "no space left\nevt: installing failed; the whole output is in build/install.log\n")
        for arguments in ((), ("",), ("--help",), ("a", "b")):
            done = self.run_wrapper("install", *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (2, "", "evt: install takes one argument, the folder to make: ./evt install DIR\n"))

    def test_a_changed_list_is_looked_at_again(self):
        self.run_wrapper("run")
        self.logged()
        with open(self.root / "scripts/packages", "a") as packages:
            packages.write("build  fourth\n")
        self.run_wrapper("run")
        self.assertEqual(
            self.logged(), ["apt-get -q update", "apt-get -qy install --no-install-recommends third fourth"])

    def test_not_root_prints_what_is_missing(self):
        self.stand_in("id", "echo 1000")
        done = self.run_wrapper("run")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(
            done.stderr,
            "evt: packages are missing, and only root on Debian can install them; ask for:\n"
            "  apt-get install --no-install-recommends third\n"
            "evt: or pass --skip-packages first if they are installed under other names\n")
        self.assertEqual(self.run_wrapper("--skip-packages", "run").stdout, "tool [run]")

    def test_failed_installation(self):
        self.stand_in("apt-get", "echo no network; exit 100")
        done = self.run_wrapper("run")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(
            done.stderr.splitlines()[1:],
            ["no network", "evt: installing packages failed; the whole output is in build/packages.log"])

    def test_failed_build_fails_the_test_command(self):
        self.stand_in("ninja", "exit 1")
        done = self.run_wrapper("test")
        self.assertEqual((done.returncode, done.stdout), (1, "0 passed, 1 failed\n"))

    def test_failed_configuration_looks_at_the_packages_again(self):
        self.stand_in("cmake", 'echo "CMake Error at x:1 (find_package):"; exit 1')
        done = self.run_wrapper("run")
        self.assertEqual(done.returncode, 3)
        self.assertIn("CMake Error at x:1 (find_package):\n", done.stderr)
        self.assertEqual(list((self.root / "build").glob(".packages-*")), [])


if __name__ == "__main__":
    unittest.main()
