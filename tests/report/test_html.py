"""The page of a check, as text and in a real browser: nothing breaks out, everything is drawn, keys and search work."""

from __future__ import annotations

import json
import re
import shutil
import struct
import time
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from conftest import absent
from support import reports
from support.browser import NAMES, Browser, browser

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.html import html_page, page_holes, page_template
from slangad.compiler.report.html_curve import curve_svg
from slangad.compiler.report.html_heat import MOST_COLUMNS, MOST_ROWS, heat_maps
from slangad.compiler.report.html_slice import slice_figure
from slangad.compiler.report.html_source import source_of
from slangad.compiler.report.model import Curve, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slangad.compiler.report.model import Report

every_report = pytest.mark.parametrize("name", reports.REPORTS)
VOID = {"meta", "input", "br"}


class Tags(HTMLParser):
    """Collects elements and finds those that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_template__its_holes__are_those_that_are_filled() -> None:
    assert set(page_template().get_identifiers()) == set(page_holes(reports.report()))


@every_report
def test_page__any_report__is_well_formed_with_elements_of_ours_only(name: str) -> None:
    tags = Tags()
    tags.feed(html_page(reports.REPORTS[name]))
    assert tags.open == []
    names = {tag for tag, _ in tags.seen}
    assert [tag for tag, _ in tags.seen].count("script") == 1  # ours, which the policy of the page names by its hash
    assert not names & {"img", "link", "iframe", "object", "embed", "form", "foreignobject"}
    attributes = {attribute for _, attributes in tags.seen for attribute in attributes}
    assert not {attribute for attribute in attributes if attribute.startswith("on") or attribute == "src"}
    links = [attributes["href"] or "" for _, attributes in tags.seen if "href" in attributes]
    ids = [attributes["id"] or "" for _, attributes in tags.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_page__large_jacobian__shows_the_part_around_the_wrong_entry() -> None:
    text = heat_maps(reports.large(), "out_39", "in_50")
    assert text.count("<td class") == 3 * (MOST_ROWS * MOST_COLUMNS + 1)
    assert text.count(" wrong") == 3
    assert "16 of 40 rows and 12 of 90 columns are shown" in text


def test_curve__points__lie_where_their_logarithms_are() -> None:
    svg = curve_svg(Curve((1.0, 0.1, 0.01), (1.0, 1.0, 1.0), (1.0, 1e-2, 1e-4)), None, None, "c")
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg)]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x0 - x1 == pytest.approx(x1 - x2, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert y0 < y1
    assert x0 > x1


def test_curve__no_distance_at_all__is_a_triangle_at_the_bottom() -> None:
    svg = curve_svg(Curve((1.0, 0.1, 0.01), (1.5, 1.0, 1.0), (0.5, 0.0, 0.0)), 1.0, 1.0, "c")
    assert svg.count('class="zero found"') == svg.count('class="zero expected"') == 2
    assert svg.count("<circle") == 2
    assert len(set(re.findall(r'class="zero found" d="M[\d.]+ (\d+)', svg))) == 1


def test_slice__a_kink_and_a_wrong_slope__are_drawn_as_a_bar_and_an_area() -> None:
    wrong, right = (slice_figure(one, reports.result()) for one in (reports.slice_along(2.0), reports.slice_along(1.0)))
    assert wrong.count('class="interval"') == right.count('class="interval"') == 1
    assert "kink at v.y = 0: from -1 to 1" in right
    assert wrong.count('class="gap"') == 1
    assert 'class="gap"' not in right


def test_heat_map__an_entry_at_a_kink__is_an_interval_and_no_nan() -> None:
    nan = float("nan")
    kinked = replace(reports.jacobian(), expected=((0.5, nan, 0.0),) * 2, low=((nan, 0.0, nan),) * 2)
    text = heat_maps(replace(kinked, high=((nan, 1.0, nan),) * 2), "result[0]", "v.y")
    assert text.count(">0 … 1</td>") == 2
    assert "nan" not in text.lower()
    assert ">1</td>" in text  # found 2: 1 above the interval


def test_source__a_function_with_a_wrong_statement_elsewhere__shows_both(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("import x\n\n@x\ndef f(a):\n    return a\n\n\n@f.backward\ndef g(a, d):\n    return d\n\n\nb = 1\n")
    span = Span(str(file), 4, 5, 4, 6)
    bad = replace(reports.failure(), span=Span(str(file), 10, 5, 10, 13))
    text = source_of(replace(reports.result(Verdict.FAIL), span=span, failures=(bad,)))
    assert re.findall(r"<i>(\d+|⋮)</i>", text) == ["3", "4", "5", "⋮", "8", "9", "10"]
    assert re.findall(r'marked"><i>(\d+)', text) == ["10"]


def test_curve__nothing_to_draw__is_empty() -> None:
    nan = float("nan")
    assert curve_svg(Curve((), (), ()), 1.0, 2.0, "c") == ""
    assert curve_svg(Curve((1.0, 0.5), (nan, 2.0), (nan, 0.0)), None, 2.0, "c") == ""


# --- in a browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, NAMES)), None) or absent("chromium")
    with browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def show(tab: Browser, tmp_path: Path) -> Iterator[object]:
    """Opens the page of a report; whatever the browser has to complain of fails the test."""

    def open_page(report: Report, **options: object) -> Browser:
        file = tmp_path / "report.html"
        file.write_text(html_page(report), encoding="utf-8")
        tab.open(file, **options)  # type: ignore[arg-type]  # checked at run time
        return tab

    yield open_page
    tab.ask("1")
    said = [event for event in tab.events if event["method"] in {"Log.entryAdded", "Runtime.consoleAPICalled"}]
    asked = [
        event["params"]["request"]["url"] for event in tab.events if event["method"] == "Network.requestWillBeSent"
    ]
    dialogs = [event for event in tab.events if event["method"] == "Page.javascriptDialogOpening"]
    assert not said
    assert not dialogs
    assert {url.split("#")[0] for url in asked} <= {(tmp_path / "report.html").as_uri()}


@every_report
@pytest.mark.parametrize("width", [1300, 400])
def test_browser__any_report__shows_every_result_and_is_not_wider_than_the_window(
    show: object, name: str, width: int
) -> None:
    report = reports.REPORTS[name]
    tab: Browser = show(report, width=width)  # type: ignore[operator]  # the fixture above
    assert tab.ask("document.compatMode") == "CSS1Compat"
    assert tab.ask("document.querySelectorAll('tbody tr[data-verdict]').length") == len(report.results)
    assert tab.ask("document.querySelectorAll('.failure').length") == sum(len(r.shown_failures) for r in report.results)
    assert tab.ask("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.ask("document.scripts.length") == 1


def test_browser__hostile_strings__are_shown_letter_by_letter(show: object) -> None:
    tab: Browser = show(reports.hostile())  # type: ignore[operator]  # the fixture above
    names = tab.ask("[...document.querySelectorAll('h3')].map(each => each.textContent)")
    for text in ("]]>", "<script>alert(1)</script>", "&amp; \" ' < >", "-->", "#{a} $b @{c} @@"):
        assert text in names


def test_browser__pictures__are_drawn_inside_their_frames(show: object) -> None:
    tab: Browser = show(reports.report(reports.result(Verdict.FAIL)))  # type: ignore[operator]  # the fixture above
    inside = """[...document.querySelectorAll('svg text, svg circle, svg path')].every(each => {
        const frame = each.ownerSVGElement.getBoundingClientRect(), box = each.getBoundingClientRect();
        return box.width + box.height > 0 && box.left >= frame.left - 1 && box.right <= frame.right + 1
            && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1; })"""
    assert tab.ask(inside)
    assert tab.ask("document.querySelectorAll('.split svg circle').length") == 32
    assert tab.ask("document.querySelectorAll('.slice svg').length") == 2
    maps = tab.ask(
        "[...document.querySelectorAll('.map tbody')]"
        ".map(map => [...map.querySelectorAll('td')].map(td => td.textContent))"
    )
    assert maps == [
        ["0.5", "2", "0", "-0.75", "-1.5", "0"],
        ["0.5", "1", "0", "-0.75", "-1.5", "0"],
        ["0", "1", "0", "0", "0", "0"],
    ]
    colours = tab.ask(
        "[...document.querySelectorAll('.map td[class]')].slice(0, 3).map(td => getComputedStyle(td).backgroundColor)"
    )
    assert len(set(colours)) == 3


@pytest.mark.parametrize("dark", [False, True])
def test_browser__light_and_dark__text_stands_out(show: object, dark: bool) -> None:
    tab: Browser = show(reports.every_verdict(), dark=dark)  # type: ignore[operator]  # the fixture above
    picture = _pixels(tab.picture())
    corner = picture[5][5]
    assert (sum(corner) < 150) if dark else (sum(corner) > 600)
    contrasts = json.loads(tab.ask(CONTRAST))
    low = {name: ratio for name, ratio in contrasts.items() if ratio < 4.5}
    assert not low


def test_browser__keys__reach_the_filters_and_hide_other_verdicts(show: object) -> None:
    tab: Browser = show(reports.every_verdict())  # type: ignore[operator]  # the fixture above
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.className") == "skip"
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.tagName") == "SUMMARY"
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.id") == "show-all"
    tab.press("ArrowRight", 39)
    assert tab.ask("document.activeElement.id") == "show-FAIL"
    assert tab.ask(VISIBLE % "[data-verdict]") == ["FAIL", "FAIL"]
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.id") == "search"
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.getAttribute('href')") == "#result-1"


def test_browser__a_link_to_a_folded_result__unfolds_it(show: object) -> None:
    tab: Browser = show(reports.every_verdict())  # type: ignore[operator]  # the fixture above
    unfolded = "document.getElementById('result-0').closest('details').open"
    assert not tab.ask(unfolded)
    tab.ask("document.querySelector('a[href=\"#result-0\"]').click()")
    assert tab.ask(unfolded)


def test_browser__search__leaves_results_with_all_words(show: object) -> None:
    tab: Browser = show(reports.every_verdict())  # type: ignore[operator]  # the fixture above
    search = (
        "(() => {const f = document.getElementById('search'); f.value = '%s'; f.dispatchEvent(new Event('input'))})()"
    )
    tab.ask(search % "a.py kink_bad")
    assert tab.ask(VISIBLE % "[data-verdict]") == ["KINK_BAD", "KINK_BAD"]
    assert tab.ask("document.getElementById('matches').textContent") == "1 found"
    tab.ask(search % "")
    assert len(tab.ask(VISIBLE % "tr[data-verdict]")) == len(Verdict)


def test_browser__a_thousand_results__are_laid_out_anew_at_once(show: object) -> None:
    tab: Browser = show(reports.many())  # type: ignore[operator]  # the fixture above
    start = time.monotonic()
    tab.resize(400, 900)
    tab.ask("document.getElementById('show-FAIL').click()")
    assert tab.ask("document.body.offsetHeight") > 0
    assert time.monotonic() - start < 8.0


@pytest.mark.parametrize("verdict", Verdict)
def test_browser__each_filter__leaves_its_verdict(show: object, verdict: Verdict) -> None:
    tab: Browser = show(reports.every_verdict())  # type: ignore[operator]  # the fixture above
    tab.ask(f"document.getElementById('show-{verdict.value}').click()")
    assert tab.ask(VISIBLE % "tr[data-verdict]") == [verdict.value]


VISIBLE = """[...document.querySelectorAll('%s')].filter(each => each.getClientRects().length)
    .map(each => each.dataset.verdict)"""

CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = colour => { const [r, g, b] = colour.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = each => { for (; each; each = each.parentElement) {
    const colour = rgb(getComputedStyle(each).backgroundColor); if (colour[3] === 255) return colour; } };
  const found = {};
  for (const each of document.querySelectorAll('body *')) {
    if (each.tagName === 'title' || ![...each.childNodes].some(node => node.nodeType === 3
      && node.textContent.trim())) continue;
    const style = getComputedStyle(each), fore = rgb(each.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(fore), light(behind(each))].sort((x, y) => y - x);
    const name = each.tagName + '.' + (each.getAttribute('class') || '');
    found[name] = Math.min(found[name] ?? 99, (a + 0.05) / (b + 0.05));
  }
  return JSON.stringify(found);
})()"""
"""The contrast of each kind of text with what is behind it, by WCAG."""


def _pixels(png: bytes) -> list[list[tuple[int, ...]]]:
    """The colours of a PNG without interlacing, 8 bits a channel."""
    at, data, width, channels = 8, b"", 0, 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, channels = struct.unpack(">I", body[:4])[0], {2: 3, 6: 4}[body[9]]
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    return _unfiltered(zlib.decompress(data), width * channels, channels)


def _unfiltered(raw: bytes, stride: int, channels: int) -> list[list[tuple[int, ...]]]:
    """The first rows; enough for a corner."""
    above, rows = bytearray(stride), []
    for number in range(8):
        kind = raw[number * (stride + 1)]
        line = bytearray(raw[number * (stride + 1) + 1 : (number + 1) * (stride + 1)])
        for at in range(stride):
            left, up = line[at - channels] if at >= channels else 0, above[at]
            corner = above[at - channels] if at >= channels else 0
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            line[at] = (line[at] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        rows.append([tuple(line[at : at + 3]) for at in range(0, stride, channels)])
        above = line
    return rows
