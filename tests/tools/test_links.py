"""Links of the built site that lead nowhere are found."""

from pathlib import Path

import pytest

from tools.links import broken, main


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a site of two pages and a picture; the first page has good links."""
    (tmp_path / "tour").mkdir()
    (tmp_path / "a b.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "tour" / "index.html").write_text('<h1 id="start">Tour</h1>', encoding="utf-8")
    links = [
        "tour/",
        "tour/#start",
        "tour/index.html",
        "#here",
        "https://example.invalid/x",
        "mailto:a@example.invalid",
    ]
    html = "".join(f'<a href="{link}">x</a>' for link in links)
    (tmp_path / "index.html").write_text(f'{html}<img src="a%20b.svg"><p id="here">', encoding="utf-8")
    return tmp_path


def test_links_to_pages_names_and_pictures_are_good(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(site)]) == 0
    assert capsys.readouterr().out.endswith("2 pages, 0 broken links\n")


@pytest.mark.parametrize("address", ["tuor/", "tour/#begin", "#there", "missing.svg", "../outside.html"])
def test_a_link_that_leads_nowhere_is_named_with_its_page(site: Path, address: str) -> None:
    (site / "bad").mkdir()
    (site / "bad" / "index.html").write_text(f'<a href="../{address}">x</a>', encoding="utf-8")
    if address.startswith("#"):
        (site / "bad" / "index.html").write_text(f'<a href="{address}">x</a>', encoding="utf-8")
    (found,) = broken(site)
    assert found.startswith("bad/index.html: ")
    assert found.endswith(address)


def test_a_folder_without_pages_is_no_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("0 pages, 0 broken links\n")
