"""The page holds what was put on it, is well-formed, and asks for nothing from elsewhere."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from oracles.hand_made_result import Model, make_result
from polykern import MKLClassifier, kernels
from polykern.inspection import Page, write_report
from polykern.regularizers import GroupedNorm

VOID = {"meta", "img", "br", "link", "hr"}


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects the text and everything that a browser would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href", "data", "srcset", "action")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def full_page(figure) -> Page:
    page = Page("A & B", lead="x < y", footer="the end")
    page.heading("First").text("Some text.").numbers([("3 of 4", "kernels kept")])
    page.table(["kernel", "weight"], [["<a>", "0.5"], ["b", "0.25"]], note="a note")
    return page.figures([(figure, "A caption.")]).code("  a = 1\n  b = 2\n").details("More", "hidden")


def test_page_holds_everything_in_order_and_escaped(axes):
    text = Reader(full_page(axes.figure).render()).text
    parts = [
        "A & B",
        "x < y",
        "First",
        "Some text.",
        "kernels kept",
        "3 of 4",
        "kernel",
        "weight",
        "<a>",
        "0.5",
        "b",
        "0.25",
    ]
    parts += ["a note", "A caption.", "a = 1", "b = 2", "More", "hidden", "the end"]
    assert re.search(".*".join(map(re.escape, parts)), text), text


def test_page_loads_nothing_but_what_it_carries(axes):
    html = full_page(axes.figure).render()
    assert [address[:26] for address in Reader(html).loads] == ["data:image/svg+xml;base64,"]
    assert "<script" not in html and "@import" not in html and "url(" not in html


def test_pictures_carry_text_in_the_font_of_the_page_and_load_nothing(axes):
    axes.set_xlabel("seconds to solve")
    (address,) = Reader(full_page(axes.figure).render()).loads
    svg = base64.b64decode(address.partition(",")[2]).decode()
    assert "seconds to solve" in svg and "system-ui" in svg and "DejaVu" not in svg
    assert not re.search(r"(href|src)=\"(?!#)", svg)


def test_same_figure_same_page(axes):
    assert full_page(axes.figure).render() == full_page(axes.figure).render()


def test_page_fits_a_phone_and_paper():
    html = Page("t").render()
    assert 'name="viewport" content="width=device-width' in html and "@media print" in html


def test_report_of_a_model(model, tmp_path):
    target = write_report(model, tmp_path / "report.html", title="My kernels")
    reader = Reader(target.read_text(encoding="utf-8"))
    for words in ("My kernels", "Converged: the certified gap", "3 of 4", "0.25 s", "by SILP", "1 < 2 & all is well"):
        assert words in reader.text
    assert re.search(r"c 0\.5 50\.0% d 0\.3 30\.0% a 0\.2 20\.0% 1 kernel has weight 0", reader.text)
    assert len(reader.loads) == 2


def test_report_of_groups_counts_and_weighs_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    spec = [("a", kernels.RBF(), [0]), ("b", kernels.Linear(), [0]), ("c", kernels.RBF(), [1])]
    groups = {"first": ["a", "b"], "second": ["c"]}
    model = MKLClassifier(spec, regularizer=GroupedNorm(groups, q=0.75)).fit(X, X[:, 0] > 0)
    text = Reader(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "regularizer GroupedNorm(2 groups, q=0.75), C 1" in text
    share = (model.weights_[0] + model.weights_[1]) / model.weights_.sum()
    assert re.search(rf"group weights \(shares of their sum\) first {share:.4f} #+ second {1 - share:.4f}", text)


def test_report_of_a_bare_result_without_history(tmp_path):
    target = write_report(make_result(gaps=()), tmp_path / "report.html", names="abcd", top=2)
    reader = Reader(target.read_text(encoding="utf-8"))
    assert "1 smaller weight is not listed, 1 kernel has weight 0" in reader.text
    assert len(reader.loads) == 1


def test_report_where_every_weight_is_zero(tmp_path):
    reader = Reader(write_report(Model(make_result((0.0,) * 4)), tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "0 of 4" in reader.text


def test_report_into_a_folder_that_is_not_there_is_refused(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        write_report(model, tmp_path / "nowhere" / "report.html")
