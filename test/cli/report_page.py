#!/usr/bin/env python3
"""The page of layline report, in headless Chromium.

report_page.py LAYLINE OUT. Ends with 77, and says so, where there is no browser.
Every control is used by keyboard or mouse, and what the page then says is
compared with its numbers. LAYLINE_SCREENSHOTS=DIR keeps pictures; of a page on
which something was wrong there is one in OUT.
"""

import json
import os
import pathlib
import re
import sys

from browser import NAMES, Browser, find_browser
from layline_tests import MODELS, ROOT, Test, read_json

test = Test()
B200 = ROOT / "test" / "traces" / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
found = find_browser()
if not found:
    print(f"SKIPPED: none of {', '.join(NAMES)} is here "
          "(Debian: apt-get install chromium-headless-shell)")
    sys.exit(77)

H200 = ("--target", "h200x8", "--tokens", "1:8192")
PLANS = {"llama": ("llama-3.1-70b.json", "--tp", 8, *H200),
         "deepseek": ("deepseek-v3.json", "--tp", 8, *H200),
         "context": ("qwen3-8b.json", "--tp", 2, "--cp", 4, *H200)}
pages = {}
for name, (config, *arguments) in PLANS.items():
    folder = test.compile(MODELS / config, test.out / name, *arguments)
    pages[name] = test.out / f"{name}.html"
    run = test.run("report", folder, "-o", pages[name])
    test.expect(run.status == 0, f"report of {name}", run)
pages["b200"] = test.out / "b200.html"
run = test.run("report", B200, "--model", MODELS / "gpt-oss-120b.json", "--tp", 8, "--target",
               "b200x8", "-o", pages["b200"])
test.expect(run.status == 0, "report of b200", run)

# What the page is asked. A colour is compared with that of the nearest element
# behind it that is not transparent (WCAG 2.2, 1.4.3: 4.5 for text, 3 for large
# text; 1.4.11: 3 for what is not text).
CONTRAST = r"""(() => {
  const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = ([r, g, b]) => { const f = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; }
    return [255, 255, 255, 1]; };
  const bad = []; let checked = 0, least = 99;
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || ['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName)) continue;
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || ['SELECT', 'INPUT'].includes(e.tagName);
    const style = getComputedStyle(e);
    if (own) {
      const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
      const needs = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
      const has = ratio(parse(style.color), behind(e));
      ++checked; least = Math.min(least, has);
      if (has < needs) bad.push(`${e.className || e.tagName} "${e.textContent.slice(0, 30)}" ${has.toFixed(2)}`);
    }
    if (e.matches('.event, .filled, .lane-name i, select, input, button, .segment') && !e.matches('.unknown-time')) {
      const shape = e.matches('select, input, button, .segment') ? style.borderTopColor : style.backgroundColor;
      const has = ratio(parse(shape), behind(e.parentElement));
      ++checked;
      if (has < 3) bad.push(`shape ${e.className || e.tagName} ${has.toFixed(2)}`);
    }
  }
  const focus = document.createElement('i'); focus.style.color = 'var(--focus)'; document.body.append(focus);
  if (ratio(parse(getComputedStyle(focus).color), behind(document.body)) < 3) bad.push('focus');
  focus.remove();
  return { bad, checked, least };
})()"""
TABBABLE = """[...document.querySelectorAll('a[href], select, input, button, summary, [tabindex]')]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility())
  .map((e) => e.id || e.getAttribute('href') || e.getAttribute('aria-label') || e.className || e.tagName)"""
FOCUSED = """(() => { const e = document.activeElement;
  if (e === document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  return { name: e.id || e.getAttribute('href') || e.getAttribute('aria-label') || e.className || e.tagName,
    outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, seen: box.width > 0 && box.height > 0 }; })()"""
# Of elements with a role or a control: a name for those who do not see them.
NAMELESS = r"""[...document.querySelectorAll('select, input, button, a, [role=option], [role=radio], [role=listbox], [role=group], [role=region], [role=radiogroup]')]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') && document.getElementById(e.getAttribute('aria-labelledby')))
    || (e.labels && e.labels.length) || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 80))"""


class Page:
    def __init__(self, browser, name):
        self.browser, self.name = browser, name
        self.wrong_before = len(test.wrong)
        browser.screen(1280)
        browser.open(pages[name])
        self.numbers = json.loads(self.run("document.getElementById('numbers').textContent"))

    def run(self, script):
        return self.browser.run(script)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def expect(self, good, what, detail=""):
        return test.expect(good, f"{self.name}: {what}", detail)

    def choose(self, ident, value):
        """As a person does in a select: the value, then its event."""
        self.run(f"""(() => {{ const e = document.getElementById({json.dumps(ident)});
          e.value = {json.dumps(str(value))}; e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()""")

    def type(self, ident, text):
        self.run(f"document.getElementById({json.dumps(ident)}).select()")
        self.browser.call("Input.insertText", text=text)

    def click(self, selector):
        box = self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
          e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();
          return [b.x + b.width / 2, b.y + b.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1],
                              button="left", clickCount=1)

    def focus(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def key(self, name):
        self.browser.key(name)

    def state(self):
        """What is chosen: token range, layer."""
        return (self.run("[...document.querySelectorAll('.segment')]"
                         ".findIndex((e) => e.ariaChecked === 'true')"),
                self.run("Number(document.getElementById('layer').value)"))

    def close(self):
        self.expect(not self.browser.console, "nothing on the console", self.browser.console[:3])
        others = [u for u in self.browser.requests if not u.startswith("file://")
                  or pathlib.Path(u[7:]).name != pages[self.name].name]
        self.expect(not others and self.browser.requests, "nothing is fetched", others)
        if len(test.wrong) > self.wrong_before:
            self.browser.screenshot(test.out / f"{self.name}.png")


def check_colours(page):
    page.run("document.getElementById('kernel-list').open = true")
    checked = {}
    for system, theme in (("light", "system"), ("dark", "system"), ("light", "dark"),
                          ("dark", "light")):
        page.browser.screen(1280, dark=system == "dark")
        page.choose("theme", theme)
        shown = theme if theme != "system" else system
        level = page.run("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
        page.expect((level < 60) == (shown == "dark"), f"{shown} page, system {system}", level)
        found = page.run(CONTRAST)
        page.expect(not found["bad"] and found["checked"] > 100,
                    f"contrast of the {shown} page", found)
        checked[shown] = found["least"]
    page.browser.screen(1280)
    page.choose("theme", "system")
    return checked


def walk(page):
    """Tab from the begin to the end, and back: every control once, each seen."""
    expected = page.run(TABBABLE)
    for back in (False, True):
        page.run("document.activeElement.blur(); scrollTo(0, 0)")
        if back:
            page.run("(() => { const e = document.createElement('i'); e.tabIndex = 0; e.id = 'end';"
                     " document.body.append(e); e.focus(); })()")
        visited = []
        for _ in range(len(expected) + 5):
            page.browser.key("Tab", shift=back)
            at = page.run(FOCUSED)
            if at is None or at["name"] == "end":
                break
            visited.append(at["name"])
            page.expect(at["outline"] and at["seen"], f"focus is seen on {at['name']}", at)
        page.expect(visited == (expected[::-1] if back else expected),
                    f"order of {'Shift+' if back else ''}Tab",
                    [visited[:40], expected[:40]])
    page.run("document.getElementById('end').remove()")


def check_choices(page):
    variants = page.numbers["variants"]
    # Token ranges by arrow keys.
    page.focus(".segment[aria-checked=true]")
    page.key("Home")
    for i in range(len(variants)):
        own = variants[i]
        page.expect(page.state()[0] == i, f"arrow to token range {i}", page.state())
        page.expect(page.run("document.activeElement.ariaChecked === 'true'"),
                    "focus stays on the chosen range")
        words = f"{own['applied']} " + ("boundary" if own["applied"] == 1 else "boundaries")
        page.expect(words in page.text("#stack-text"), f"stack of range {i}",
                    page.text("#stack-text"))
        rows = page.run("document.querySelectorAll('#boundary-table tbody tr').length")
        page.expect(rows > 1, f"boundaries of range {i}", rows)
        # What a step's boundaries cost, at each token count.
        for k, point in enumerate(own["points"]):
            page.choose("tokens", k)
            bars = page.text("#baselines")
            if "chosen" not in point:
                page.expect(bars == "", "no prices, no bars", bars)
                continue
            us = point["chosen"]
            shown = (f"{us / 1000:.2f}" if us >= 1000 else f"{us:.0f}" if us >= 100 else f"{us:.1f}")
            page.expect(shown in bars, f"cost at {point['tokens']} tokens", [shown, bars])
        page.key("ArrowRight")
    page.key("End")
    page.key("ArrowLeft")
    page.expect(page.state()[0] == max(0, len(variants) - 2), "arrow back", page.state())
    page.click(f".segment:nth-child({len(variants)})")
    page.expect(page.state()[0] == len(variants) - 1, "a range by mouse", page.state())

    # Layers: by the select, by arrow keys in the strip, by mouse.
    own = variants[-1]
    layers = [n for n, _ in own["layers"]]
    page.choose("layer", layers[1])
    page.expect(page.state()[1] == layers[1], "layer by select", page.state())
    for site in own["kinds"][own["layers"][1][1]]["sites"]:
        wanted = "Boundary of " + site["site"].replace("@.", f"layer.{layers[1]}.")
        page.expect(wanted in page.text("#diagram"), wanted, page.text("#diagram")[:200])
    page.focus(".cell[aria-selected=true]")
    page.key("ArrowRight")
    page.expect(page.state()[1] == layers[2], "next layer by arrow", page.state())
    page.expect(page.run("document.activeElement.ariaSelected === 'true'"), "focus stays on it")
    page.key("End")
    page.expect(page.state()[1] == layers[-1], "last layer", page.state())
    page.key("Home")
    page.expect(page.state()[1] == -1 and "embedding" in page.text("#diagram"),
                "outside of layers", page.state())
    page.click(".cell:nth-child(4)")
    page.expect(page.state()[1] == layers[2], "a layer by mouse", page.state())


def check_diagram(page):
    """One boundary after the other as the plan has it."""
    own = page.numbers["variants"][page.state()[0]]
    layer = page.state()[1]
    kind = own["kinds"][dict(map(tuple, own["layers"]))[layer]]
    sides = page.run("[...document.querySelectorAll('#diagram .side')].map((e) =>"
                     " [...e.querySelectorAll('.op')].map((o) => o.innerText))")
    page.expect(len(sides) == 2 * len(kind["sites"]), "a before and an after of each boundary",
                len(sides))
    for i, site in enumerate(kind["sites"]):
        before, after = sides[2 * i:2 * i + 2]
        page.expect(before[0] == "all_reduce" and "reduce_scatter" not in before,
                    f"before {site['site']}", before)
        became = [op for op in site["became"]]
        page.expect([op for op in after if op in became][:1] == became[:1]
                    and set(became) <= set(after), f"after {site['site']}", [after, became])


def check_timeline(page):
    run = page.numbers["run"]
    chosen = "[...document.querySelectorAll('.event[aria-selected=true]')].map((e) => e.id)"
    count = page.run("document.querySelectorAll('.event').length")
    page.expect(count > 10, "kernels of a layer", count)
    page.focus("#lanes")
    page.key("Home")
    first = page.run(chosen)
    seen = [first]
    for _ in range(count - 1):
        page.key("ArrowRight")
        now = page.run(chosen)
        page.expect(len(now) == 1 and page.run("document.getElementById('lanes')"
                    ".getAttribute('aria-activedescendant')") == now[0], "one kernel is chosen", now)
        seen.append(now)
    page.expect(len({s[0] for s in seen}) == count, "arrows reach every kernel", len(seen))
    last = page.text("#kernel")
    page.key("ArrowRight")
    page.expect(page.text("#kernel") == last, "the last stays the last")
    page.key("Home")
    page.expect(page.run(chosen) == first and page.text("#kernel") != last, "Home")
    page.key("End")
    page.expect(page.text("#kernel") == last, "End")
    widest = page.run("(() => { const all = [...document.querySelectorAll('.event')]; const i ="
                      " all.reduce((b, e, k) => e.offsetWidth > all[b].offsetWidth ? k : b, 0);"
                      " return all[i].id; })()")
    page.click(f"#{widest}")
    page.expect(page.run(chosen) == [widest], "a kernel by mouse", page.run(chosen))
    # Colour is not the only sign: a lane has a name, a kernel one for readers.
    page.expect(all(page.run("[...document.querySelectorAll('.lane')].map((e) => e.innerText.trim()"
                             " && e.ariaLabel)")), "lanes have names")
    page.expect(all("Time:" in label and "Part:" in label for label in page.run(
        "[...document.querySelectorAll('.event')].map((e) => e.ariaLabel)")), "kernels have names")
    opened = page.run("document.getElementById('kernel-list').open")
    page.focus("#kernel-list summary")
    page.key("Enter")
    page.expect(page.run("document.getElementById('kernel-list').open") != opened, "table by Enter")
    page.expect(page.run("document.querySelectorAll('#kernel-list tbody tr').length") == count,
                "table of kernels")
    words = page.text("#timeline-text")
    if not run:
        page.expect("nothing here was measured" in words, "an estimate is said to be one", words)
        return
    page.expect("Times were measured" in words and "888 tokens" in words, "measured", words)
    layer = next(each for each in run["timeline"]["layers"] if each["layer"] == page.state()[1])
    page.expect(count == len(layer["events"]), "all kernels of the layer", count)
    page.choose("timeline-source", "estimated")
    page.expect("nothing here was measured" in page.text("#timeline-text"), "estimates on demand")
    page.choose("timeline-source", "measured")
    page.choose("layer", -1)
    page.expect(page.run("document.querySelectorAll('.event .wait').length") == 1
                and "198 \u00b5s waiting for other ranks, 25.0 \u00b5s moving"
                in page.text("#kernel").replace("\u00a0", " "),
                "the first all-reduce waits", page.text("#kernel"))


def check_rest(page):
    numbers = page.numbers
    # Decisions: all, by status, by words.
    def cards():
        return page.run("[...document.querySelectorAll('#decision-list .decision')]"
                        ".map((e) => e.innerText)")
    every = cards()
    page.choose("decision-status", "applied")
    applied = cards()
    page.choose("decision-status", "missed")
    missed = cards()
    page.expect(len(applied) + len(missed) == len(every) > 0
                and all("by rows" in c for c in applied) and all("left whole" in c for c in missed),
                "decisions by status", [len(every), len(applied), len(missed)])
    page.choose("decision-status", "all")
    page.type("decision-words", "o_proj tokens")
    some = cards()
    page.expect(some == [c for c in every if "o_proj" in c] and 0 < len(some) < len(every),
                "decisions by words", len(some))
    page.type("decision-words", "no such words")
    page.expect(cards() == [] and page.text("#decision-count").startswith("0 "), "no decision")
    page.run("document.getElementById('decision-words').select()")
    page.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Backspace",
                      windowsVirtualKeyCode=8)
    page.expect(cards() == every, "all decisions again")
    # Memory: caches of so many tokens.
    page.type("cached", "1000000")
    size = numbers["memory"]["cache_bytes_per_token"] * 1e6
    shown = f"{size / 1e9:.1f}" if size < 1e12 else f"{size / 1e12:.1f}"
    page.expect(shown in page.text("#memory-bar"), "caches of a million tokens",
                [shown, page.text("#memory-bar")])
    # Values: from one to a reader and back.
    own = numbers["variants"][page.state()[0]]
    page.choose("layer", own["layers"][2][0])
    value = page.run("document.getElementById('value').value")
    page.expect(page.run("document.getElementById('value-back').disabled"), "no way back yet")
    page.click("#value-panel > div:last-child button")
    after = page.run("document.getElementById('value').value")
    page.expect(after != value and not page.run("document.getElementById('value-back').disabled")
                and page.text(".value-card h3"), "to a reader", [value, after])
    made = page.run("[...document.querySelectorAll('#value-panel > div:first-child li')]"
                    ".map((e) => e.innerText)")
    page.expect(value in made, "the reader was made from it", [value, made])
    page.click("#value-back")
    page.expect(page.run("document.getElementById('value').value") == value, "and back")
    kind = own["kinds"][own["layers"][2][1]]
    owing = next(i for i, v in enumerate(kind["values"]) if v["owes"])
    page.choose("value", page.run(f"document.getElementById('value').options[{owing}].value"))
    page.expect("every rank holds an addend" in page.text(".value-card"), "a value that owes",
                page.text(".value-card"))
    page.expect(page.run("document.getElementById('value').options.length") == len(kind["values"]),
                "all values of the layer")
    # Proofs, sections, names for readers.
    page.expect(page.run("[...document.querySelectorAll('#proof-table tbody .badge.good')].length")
                == len(numbers["proof"]["proofs"]), "proofs")
    for link in page.run("[...document.querySelectorAll('#sections a')].map((e) => e.hash)"):
        page.focus(f"#sections a[href='{link}']")
        page.key("Enter")
        page.expect(page.run("location.hash") == link and page.run(
            f"document.querySelector('{link}').getBoundingClientRect().top < innerHeight"),
            f"link to {link}", page.run("location.hash"))
    page.expect(page.run(NAMELESS) == [], "everything has a name", page.run(NAMELESS))
    page.expect(page.run("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size")
                == page.run("document.querySelectorAll('[id]').length"), "ids are there once")
    if numbers["run"]:
        page.expect("100.0" in page.text("#run-facts") and "3\u202f072 columns" in page.text("#run-parts")
                    and "Nothing" in page.text("#deviations"), "the run", page.text("#run-facts"))
        budget = numbers["budget"]["passes"][0]
        rows = page.run("[...document.querySelectorAll('#budget-parts table')[0].rows].map((r) =>"
                        " r.innerText)")
        page.expect(len(rows) == 1 + len(budget["lines"]) + 1, "lines of the budget", rows)
        page.choose("budget-pass", 0)
        page.expect("888 tokens" in page.text("#budget-choice")
                    and f"{budget['bound']['this_plan']:.3f}" in page.text("#budget-facts"),
                    "the budget", page.text("#budget-facts"))
        page.expect(page.run("document.querySelectorAll('#module-bars .name').length")
                    == len(numbers["run"]["modules"]), "bars by module")


def check_shapes(page):
    for width in (1280, 800, 360):
        page.browser.screen(width)
        wide = page.run("document.documentElement.scrollWidth")
        page.expect(wide <= width, f"{width} wide: nothing sticks out", wide)
        ticks = page.run("[...document.querySelectorAll('#axis span')].map((e) =>"
                         " { const b = e.getBoundingClientRect(); return [b.left, b.right]; })")
        page.expect(len(ticks) > 1 and all(a[1] < b[0] for a, b in zip(ticks, ticks[1:])),
                    f"{width} wide: numbers of the axis apart", ticks)
    page.browser.screen(1280, media="print")
    page.choose("theme", "dark")
    found = page.run(CONTRAST)
    level = page.run("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    page.expect(level == 255 and not found["bad"], "paper is light", found)
    page.choose("theme", "system")
    hidden = page.run("[...document.querySelectorAll('.choices, .top nav, .row')]"
                      ".filter((e) => e.checkVisibility()).length")
    page.expect(hidden == 0, "no controls on paper", hidden)
    page.run("document.getElementById('kernel-list').open = false")
    paper = test.out / f"{page.name}.pdf"
    page.browser.pdf(paper)
    page.expect(paper.read_bytes().startswith(b"%PDF-") and len(paper.read_bytes()) > 20000,
                "prints")
    page.expect(page.run("document.getElementById('kernel-list').open"),
                "what is folded is printed")
    page.browser.screen(1280)


# A model's name is shown, not run.
HOSTILE = "a</script><script>alert(1)</script><!--<b>&amp;{{numbers}}"
edited = read_json(test.out / "llama" / "plan.json")
edited["source"]["config"] = HOSTILE
(test.out / "llama" / "plan.json").write_text(json.dumps(edited))
pages["markup"] = test.out / "markup.html"
run = test.run("report", test.out / "llama", "-o", pages["markup"])
test.expect(run.status == 0, "report of a name with markup", run)

browser = Browser(found)
try:
    page = Page(browser, "markup")
    page.expect(page.run("document.getElementById('title').textContent") == HOSTILE
                and page.run("document.title").startswith(HOSTILE), "the name as it is",
                page.run("document.title"))
    page.expect(page.run("document.scripts.length") == 2 and page.run(
        "document.querySelectorAll('.op').length") > 5, "the page is there")
    page.close()
    del pages["markup"]
    for name in pages:
        page = Page(browser, name)
        least = check_colours(page)
        walk(page)
        check_choices(page)
        check_diagram(page)
        check_timeline(page)
        check_rest(page)
        check_shapes(page)
        page.close()
        print(f"{name}: least contrast of text {least['light']:.2f} light, {least['dark']:.2f} dark")
        if folder := os.environ.get("LAYLINE_SCREENSHOTS"):
            os.makedirs(folder, exist_ok=True)
            for width, dark in ((1280, False), (1280, True), (400, False)):
                browser.screen(width, dark=dark)
                browser.screenshot(pathlib.Path(folder)
                                   / f"{name}-{width}-{'dark' if dark else 'light'}.png")
finally:
    browser.close()
test.finish("pages of reports")
