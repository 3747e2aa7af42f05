"""Headless Chromium: what a page looks like from inside, and what it says on the console."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
PROBE = """<!doctype html><meta charset="utf-8"><body>
<iframe id="phone" src="{page}" style="width:375px;height:700px"></iframe>
<iframe id="desk" src="{page}" style="width:1280px;height:900px"></iframe>
<script>
console.log("the console is heard");
window.alerted = 0;
addEventListener("load", () => {{
  const found = {{}};
  for (const name of ["phone", "desk"]) {{
    const view = document.getElementById(name).contentWindow, page = view.document;
    const boxes = [...page.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect());
    const letters = [...page.querySelectorAll("svg text")].map(t =>
      parseFloat(view.getComputedStyle(t).fontSize) * t.closest("svg").getBoundingClientRect().width
      / t.closest("svg").viewBox.baseVal.width);
    found[name] = {{
      width: page.documentElement.scrollWidth, view: view.innerWidth, plots: boxes.length,
      narrowest: Math.min(...boxes.map(b => b.width)), lowest: Math.min(...boxes.map(b => b.height)),
      smallest_letters: Math.min(...letters), scripts: page.scripts.length,
      labelled: [...page.querySelectorAll("figure")].every(
        f => f.querySelector("[role=img][aria-label]") && f.querySelector("figcaption") && f.querySelector("table")),
      text: page.body.innerText,
    }};
  }}
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
}});
</script>"""


@dataclass(frozen=True)
class Seen:
    phone: dict
    desk: dict
    console: list[str]


def look(page: Path, folder: Path) -> Seen:
    """Load a page at two widths, in a profile of its own and without a network."""
    assert PROGRAM is not None
    probe = folder / "probe.html"
    probe.write_text(PROBE.format(page=page.as_uri()), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-web-security", "--allow-file-access-from-files"]
    offline = [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
    ]
    done = subprocess.run(
        [PROGRAM, *flags, *offline, "--dump-dom", probe.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert any("the console is heard" in line for line in console)
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told is not None
    found = json.loads(html.unescape(told.group(1)))
    return Seen(found["phone"], found["desk"], [line for line in console if "the console is heard" not in line])
