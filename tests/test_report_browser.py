"""The page in a real browser: nothing fails, everything shows, tables sort, dark is dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from torte import MCEClassifier
from torte.kernels import Gaussian
from torte.report import write_report

selenium = pytest.importorskip("selenium", reason="the browser tests need selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no name leads anywhere
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*QUIET, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A table with long and wicked names, images, and a model alone."""
    folder = tmp_path_factory.mktemp("reports")
    data = load_iris(as_frame=True)
    long = "a very long name of a column, with no end that anyone could see, " * 2
    X = data.data.rename(columns={"sepal width (cm)": long})
    X.columns = [*X.columns[:3], "<script>throw 1</script>"]
    y = np.array(["Iris-" + "x" * 60, "versicolor", "<img src=x onerror='throw 2'>"])[data.target]
    table = MCEClassifier(random_state=0).fit(X[::2], y[::2])
    pixels, digits = load_digits(return_X_y=True)
    images = MCEClassifier(Gaussian(20.0), optimizer=None, regularization=1e-3)
    images.fit(pixels[:300], digits[:300])
    return {
        "table": write_report(table, folder / "table.html", X[1::2], y[1::2], title="T" * 120),
        "images": write_report(images, folder / "images.html", pixels[300:600], digits[300:600]),
        "model": write_report(table, folder / "model.html"),
    }


def visit(browser: Any, page: Path, width: int = 1280, scheme: str = "light") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page.as_uri())


@pytest.mark.parametrize("name", ["table", "images", "model"])
def test_no_message_and_no_request(browser, pages, name):
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # empty it
    visit(browser, pages[name])
    assert browser.get_log("browser") == []
    sent = [entry["message"] for entry in browser.get_log("performance")]
    requests = [message for message in sent if '"Network.requestWillBeSent"' in message]
    assert requests  # the page itself was seen
    assert all(pages[name].name in message or '"url":"data:' in message for message in requests)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["table", "images", "model"])
def test_every_figure_shows_and_the_page_does_not_overflow(browser, pages, name, width):
    visit(browser, pages[name], width)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('figure, figure > svg, table, .numbers > div')]"
        ".filter(e => !e.closest('details')).map(e => e.getBoundingClientRect())"
        ".map(b => [b.width, b.height])"
    )
    assert len(boxes) > 10
    assert all(w > 40 and h > 20 for w, h in boxes)
    wide, seen = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= seen <= width
    outside = browser.execute_script(
        "return [...document.querySelectorAll('figure text')].filter(t => {"
        "const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();"
        "return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1})"
        ".map(t => t.textContent)"
    )
    assert outside == []


def test_text_is_large_enough_to_read_on_a_phone(browser, pages):
    visit(browser, pages["table"], 390)
    smallest = browser.execute_script(
        "return Math.min(...[...document.querySelectorAll('figure text')].map(t =>"
        "parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getCTM().a, t.getCTM().b)))"
    )
    assert smallest >= 9


def test_a_click_sorts_and_another_turns_it_around(browser, pages):
    visit(browser, pages["table"])
    table = browser.find_element(By.ID, "uncertain-rows")
    headings = table.find_elements(By.CSS_SELECTOR, "th")
    for position, heading in enumerate(headings):
        for direction in ("ascending", "descending"):
            heading.find_element(By.TAG_NAME, "button").click()
            assert heading.get_attribute("aria-sort") == direction
            values = browser.execute_script(
                "return [...arguments[0].tBodies[0].rows].map(r => r.children[arguments[1]].dataset.value)",
                table,
                position,
            )
            assert len(values) == 40
            if "number" in (heading.get_attribute("class") or ""):
                numbers = [float(value) for value in values]
                assert numbers == sorted(numbers, reverse=direction == "descending")
            else:
                ends = sorted({values[0], values[-1]}, reverse=direction == "descending")
                assert [values[0], values[-1]] == ends
    sorted_ones = table.find_elements(By.CSS_SELECTOR, "th[aria-sort]")
    assert len(sorted_ones) == 1


def test_dark_differs_from_light(browser, pages):
    colors = {}
    for scheme in ("light", "dark"):
        visit(browser, pages["table"], scheme=scheme)
        colors[scheme] = browser.execute_script(
            "const of = (e, p) => getComputedStyle(document.querySelector(e))[p];"
            "return [of('body', 'backgroundColor'), of('body', 'color'), of('figure', 'backgroundColor'),"
            "of('svg .label', 'fill'), of('svg .fill0', 'fill'), of('svg .line0', 'stroke')]"
        )
    for light, dark in zip(colors["light"], colors["dark"], strict=True):
        assert light != dark
    shade = {
        scheme: sum(map(int, found[0].removeprefix("rgb(").removesuffix(")").split(",")))
        for scheme, found in colors.items()
    }
    assert shade["dark"] < 200 < 600 < shade["light"]
