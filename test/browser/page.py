"""Opens a page in headless Chromium and gives back what is in it: the DOM after its scripts ran, and the console."""

import html.parser
import os
import re
import shutil
import signal
import subprocess
import tempfile

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Node:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, attributes, []

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag=None, **attributes):
        """Descendants by tag and attributes; data_fact="busy" stands for data-fact."""
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [n for n in self.walk() if (tag is None or n.tag == tag)
                and all(n.attributes.get(k) == v for k, v in wanted.items())]

    def one(self, tag=None, **attributes):
        found = self.all(tag, **attributes)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} elements match {tag} {attributes}, expected 1")
        return found[0]

    @property
    def text(self):
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def hidden(self):
        return "hidden" in self.attributes


class _Tree(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        for at in range(len(self.open) - 1, 0, -1):
            if self.open[at].tag == tag:
                del self.open[at:]
                return

    def handle_data(self, text):
        self.open[-1].children.append(text)


class Page:
    def __init__(self, dom, console):
        tree = _Tree()
        tree.feed(dom)
        self.html = tree.root.one("html")
        self.console = console

    def data(self, name):
        """An attribute the page's script left on its root element."""
        return self.html.attributes.get(f"data-{name}")

    def id(self, name):
        return self.html.one(id=name)

    def tip(self):
        """The tooltip's lines, or None while it is hidden."""
        tip = self.id("tip")
        return None if tip.hidden else [child.text for child in tip.children]

    def row(self, **attributes):
        return [cell.text for cell in self.html.one("tr", **attributes).all("td")]

    def facts(self):
        return {fact.attributes["data-fact"]: fact.one("b").text
                for fact in self.html.all("div") if "data-fact" in fact.attributes}


class Browser:
    def __init__(self, program=None):
        self.program = program or shutil.which("chromium")
        if not self.program:
            raise SystemExit("chromium is not installed")

    def _run(self, extra, address):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                       "--disable-background-networking", "--disable-component-update", "--disable-sync",
                       "--enable-logging=stderr", f"--user-data-dir={profile}", "--virtual-time-budget=5000",
                       "--window-size=1400,900", *extra, address]
            # A group of its own, so that a browser that hangs leaves no process behind.
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       errors="replace", start_new_session=True)
            try:
                out, err = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise AssertionError("chromium did not finish within 120 seconds")
        if process.returncode != 0:
            raise AssertionError(f"chromium ended with {process.returncode}: {err[-500:]}")
        return out, err

    def open(self, path, test=""):
        address = path.resolve().as_uri() + (f"#test={test}" if test else "")
        out, err = self._run(["--dump-dom"], address)
        return Page(out, re.findall(r"CONSOLE.*", err))

    def screenshot(self, path, to, test="", dark=False):
        theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        address = path.resolve().as_uri() + (f"#test={test}" if test else "")
        self._run([f"--screenshot={to}", "--hide-scrollbars", *theme], address)
