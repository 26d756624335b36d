"""The page as text: what it says, what it leaves out, and that it is whole and harmless."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torte import MCEClassifier
from torte.errors import InvalidInput
from torte.features import Fourier, Nystroem
from torte.inspection import inspect_model, leave_one_out_probabilities
from torte.kernels import Gaussian, Linear, Precomputed, Spectrum
from torte.report import build_page, write_report
from torte.report.about_model import expression
from torte.report.axes import round_ticks
from torte.report.markup import E, number, render
from torte.report.pictures import data_uri

X, y = load_iris(return_X_y=True)


class Page(HTMLParser):
    """What of a page matters here: tags with their attributes, ids, and the text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._code = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._code = tag in ("script", "style")

    def handle_data(self, data):
        if not self._code:
            self.words.append(data)

    def handle_endtag(self, tag):
        self._code = False

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def sections(self) -> list[str]:
        return [attributes["id"] for tag, attributes in self.tags if tag == "section"]

    def addresses(self) -> list[str]:
        return [a[k] for _, a in self.tags for k in ("src", "href", "action", "data") if k in a]


@pytest.fixture(scope="module")
def model() -> MCEClassifier:
    return MCEClassifier(random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def page(model) -> Page:
    return Page(build_page(model, X[1::2], y[1::2], title="Iris"))


EVERY = ["kernel", "predictions", "uncertain", "map", "learning", "bound", "data", "plan"]


def test_half_a_surrogate_pair_does_not_stop_the_page(model, tmp_path):
    page = write_report(model, tmp_path / "half.html", title="half \ud800 pair")
    assert "half &#55296; pair" in page.read_text(encoding="utf-8")


def test_every_section_is_there(page):
    assert page.sections == EVERY
    for heading in ("Relevance by column", "Confusion matrix", "Reliability", "Entropy"):
        assert heading in page.text
    for heading in ("Risk", "Complexity", "Objective", "Class probabilities", "Terms of the bound"):
        assert heading in page.text


def test_numbers_on_top_are_those_of_the_predictions(page, model):
    accuracy = model.score(X[1::2], y[1::2])
    own = model.predict_log_proba(X[1::2])[np.arange(75), y[1::2]]
    assert f"accuracy {100 * accuracy:.1f} % of the rows" in page.text
    assert f"log loss {-own.mean():.3f}" in page.text
    assert "training rows 75" in page.text
    assert "predicted by the embedding of all the others" not in page.text


def test_terms_of_the_bound_are_stated(page, model):
    bound = model.risk_bound()
    for value in (bound.empirical_risk, bound.complexity_term, bound.confidence_term, bound.total):
        assert number(value) in page.text


def test_uncertain_rows_are_the_uncertain_ones(page, model):
    entropy = model.predict_entropy(X[1::2])
    assert "Most uncertain rows The 40 of 75 rows" in page.text
    values = [a["data-value"] for tag, a in page.tags if tag == "td"]
    for shown in np.sort(entropy)[-40:]:
        assert repr(float(shown)) in values


def test_training_rows_are_left_out_one_by_one(model):
    said = "predicted by the embedding of all the others"
    text = Page(build_page(model, X[::2], y[::2])).text
    assert said in text
    inspected = inspect_model(model)
    P = leave_one_out_probabilities(inspected, inspected.rows(X[::2]), y[::2])
    accuracy = (P.argmax(axis=1) == y[::2]).mean()
    assert f"accuracy {100 * accuracy:.1f} % leave-one-out" in text
    assert accuracy < model.score(X[::2], y[::2])
    assert said not in Page(build_page(model, X[::2], np.roll(y[::2], 1))).text


def test_without_rows_or_labels_the_rest_remains(model):
    assert Page(build_page(model)).sections == ["kernel", "learning", "bound", "plan"]
    unlabeled = Page(build_page(model, X[1::2]))
    assert unlabeled.sections == EVERY
    assert "Confusion matrix" not in unlabeled.text
    assert "accuracy" not in unlabeled.text
    with pytest.raises(InvalidInput, match="`y` needs `X`"):
        build_page(model, None, y)


def test_other_models():
    mapped = MCEClassifier(Fourier(Gaussian(ard=True), 30), random_state=0, optimizer=None)
    assert Page(build_page(mapped.fit(X, y), X, y)).sections == [
        e for e in EVERY if e != "learning"
    ]
    stream = MCEClassifier(Nystroem(Gaussian(2.0), 20), random_state=0)
    stream.partial_fit(X, y, classes=[0, 1, 2])
    told = Page(build_page(stream, X, y)).text
    assert "Not available: risk_bound needs the probabilities of all training rows" in told
    piped = make_pipeline(StandardScaler(), MCEClassifier(optimizer=None)).fit(X, y)
    assert "Pipeline report" in Page(build_page(piped, X, y)).text


def test_without_a_supremum_the_bound_takes_the_tables_ranges():
    straight = MCEClassifier(Linear(), optimizer=None).fit(X, y)
    assert "Not available: Linear() has no finite supremum" in Page(build_page(straight)).text
    assert "in the ranges of this table" in Page(build_page(straight, X, y)).text


def test_images_show_pixels():
    rng = np.random.default_rng(0)
    pixels = rng.random((60, 64))
    labels = (pixels[:, 27] > 0.5).astype(int)
    fitted = MCEClassifier(Gaussian(ard=True), optimizer=None).fit(pixels, labels)
    page = Page(build_page(fitted, pixels, labels))
    assert page.sections == ["kernel", "predictions", "uncertain", "bound", "data", "plan"]
    rows = [a for tag, a in page.tags if tag == "img"]
    assert len(rows) == 40
    plain = Page(build_page(fitted, pixels, labels, image_shape=None))
    assert "map" in plain.sections


def test_text_of_users_stays_text():
    evil = "<script>alert(1)</script>"
    sly = '"><img src=x onerror=alert(2)>'
    frame = pd.DataFrame(X, columns=[evil, sly, "&amp;", "'\0"])
    frame["word"] = "</table></style><b>"
    classes = np.array([evil, "</script><script>alert(3)</script>", sly])[y]
    numeric = frame.drop(columns="word")
    fitted = MCEClassifier(random_state=0, optimizer=None).fit(numeric, classes)
    text = build_page(fitted, numeric, classes, title=evil)
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(name.startswith("on") for _, a in page.tags for name in a)
    assert evil in page.text
    assert sly in page.text
    assert not [a for tag, a in page.tags if tag == "img"]


def test_nothing_is_fetched_and_only_our_script_runs(page):
    for address in page.addresses():
        assert address.startswith(("#", "data:")), address
    text = "".join(str(a) for _, a in page.tags)
    assert "http://" not in text
    assert "https://" not in text
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_figures_say_what_they_show(page):
    drawings = [a for tag, a in page.tags if tag == "svg" and a.get("role") == "img"]
    assert len(drawings) >= 10
    assert all(a["aria-label"] for a in drawings)
    identities = [a["id"] for _, a in page.tags if "id" in a]
    assert len(identities) == len(set(identities))
    links = [a["href"][1:] for tag, a in page.tags if tag == "a"]
    assert links == page.sections


def test_the_same_model_gives_the_same_page(model):
    def without_time(text: str) -> str:
        return re.sub(r"\d+ \w+ \d{4}, \d\d:\d\d", "", text)

    first, second = (build_page(model, X, y) for _ in range(2))
    assert without_time(first) == without_time(second)


def test_the_file_is_whole_or_not_there(model, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    assert write_report(model, target) == target
    before = target.read_bytes()
    assert before.endswith(b"</html>\n")

    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.write_bytes", fails)
    with pytest.raises(KeyboardInterrupt):
        write_report(model, target, X, y)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_told(model, tmp_path):
    with pytest.raises(InvalidInput, match="cannot be written: there is no folder"):
        write_report(model, tmp_path / "missing" / "report.html")
    with pytest.raises(InvalidInput, match="cannot be written: it is a folder"):
        write_report(model, tmp_path)


def test_expressions_are_short():
    kernel = 0.123456 * Gaussian(tuple(range(1, 785))) + Linear().on(0, 1)
    assert expression(kernel) == (
        "0.123 * Gaussian(length_scale=(784 values, 1 to 784)) + Linear().on(0, 1)"
    )
    assert expression(Gaussian(1 / 3)) == "Gaussian(length_scale=0.333)"


def test_numbers_for_reading():
    shown = {0.0: "0", 0.12345: "0.123", 1234.5: "1,234", 12.345: "12.3", 1e-7: "1.00e-07"}
    assert {value: number(value) for value in shown} == shown
    assert round_ticks(0, 1, 5) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert round_ticks(-37, 120)[0] >= -37
    assert render(E("a", "1 < 2", E("b", "&"), " > 0", class_="x", none=None)) == (
        '<a class="x">1 &lt; 2<b>&amp;</b> &gt; 0</a>'
    )


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 3), (3, 5, 4)])
def test_pictures_are_png(shape):
    image = np.random.default_rng(0).random(shape)
    content = base64.b64decode(data_uri(image).removeprefix("data:image/png;base64,"))
    plt = pytest.importorskip("matplotlib.pyplot")
    read = plt.imread(io.BytesIO(content))
    np.testing.assert_allclose(read, image, atol=0.5 / 255 + 1e-6)
    (length,) = struct.unpack(">I", content[8:12])
    assert (
        zlib.crc32(content[12 : 16 + length]) == struct.unpack(">I", content[16 + length :][:4])[0]
    )


def test_rows_that_are_objects():
    words = ["".join("ab"[(i * k) % 3 % 2] for k in range(8)) for i in range(40)]
    labels = np.arange(40) % 2
    fitted = MCEClassifier(Spectrum(2), optimizer=None, regularization=0.1).fit(words, labels)
    page = Page(build_page(fitted, words, labels))
    assert page.sections == ["kernel", "predictions", "uncertain", "bound", "data", "plan"]
    assert words[1] in page.text
    K = Spectrum(2)(words)
    pairs = MCEClassifier(Precomputed(), optimizer=None, regularization=0.1).fit(K, labels)
    assert Page(build_page(pairs, K, labels)).sections == page.sections
    frame = pd.DataFrame({"word": words, "number": np.arange(40.0)})
    mixed = Spectrum(2).on("word") * Gaussian((9.0,)).on("number")
    fitted = MCEClassifier(mixed, optimizer=None, regularization=0.1).fit(frame, labels)
    page = Page(build_page(fitted, frame, labels))
    assert "Relevance by column" in page.text
    assert "Gaussian: spread in length scales" in page.text


def test_of_many_columns_the_likely_ones_are_measured():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 150)), columns=[f"gene {i}" for i in range(150)])
    scales = np.full(150, 50.0)
    scales[140] = 1.0
    labels = (frame["gene 140"] > 0).astype(int)
    fitted = MCEClassifier(Gaussian(tuple(scales)), optimizer=None, regularization=1e-3)
    page = Page(build_page(fitted.fit(frame, labels), frame, labels))
    assert "Measured for the 120 with the most spread in length scales." in page.text
    assert re.search(r"of another row\. The 15 largest of 150 columns\.", page.text)
    shown = re.findall(r"gene \d+", page.text)
    assert shown[0] == "gene 140"
