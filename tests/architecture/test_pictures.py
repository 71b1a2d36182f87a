"""Pictures of the docs: described for who cannot see them, drawn for light and dark, small, and on a page."""

import re
from xml.etree import ElementTree as ET

import pytest

from tests.architecture.source import ROOT, at, text_files

IMAGES = ROOT / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.name)
def test_a_drawing_has_a_title_a_description_and_colours_for_the_dark(path: object) -> None:
    text = (IMAGES / str(path)).read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314  the project's own file
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert title is not None
    assert title.text
    assert description is not None
    assert len(description.text or "") > len(title.text)
    assert "@media (prefers-color-scheme: dark)" in text
    assert re.findall(r"<script|<image|href=|url\((?!#)", text) == []


def test_every_picture_is_on_a_page_with_words_in_its_place() -> None:
    shown: dict[str, str] = {}
    for page in text_files():
        if page.suffix == ".md":
            for words, link in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
                shown[at((page.parent / link).resolve())] = words
    assert {at(path) for path in IMAGES.iterdir()} == set(shown)
    assert all(len(words) > 20 for words in shown.values())


def test_the_screenshot_is_small() -> None:
    assert (IMAGES / "report.png").stat().st_size < 100_000
