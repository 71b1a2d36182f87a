"""Check the links of the built site: ``python -m tools.links build/docs``. Nothing is fetched.

Every address inside of the site must lead to a file that is there, and to an element of that name where it names one.
Exit status 1: one does not, and each is printed.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken", "main"]


class _Page(HTMLParser):
    """Names of a page's elements, and the addresses that it leads to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  by position
        """Note what a tag names and where it leads."""
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.names.add(value)
            elif value and name in ("href", "src"):
                self.addresses.append(value)


@cache
def _page(file: Path) -> _Page:
    return _Page(file.read_text(encoding="utf-8"))


def broken(site: Path) -> Iterator[str]:
    """Yield page and address of each link that leads nowhere."""
    for file in sorted(site.rglob("*.html")):
        for address in _page(file).addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            known = target.suffix != ".html" or not parts.fragment or not target.is_file()
            if not target.is_file() or not (known or unquote(parts.fragment) in _page(target).names):
                yield f"{file.relative_to(site)}: {address}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a site."""
    (site,) = sys.argv[1:] if arguments is None else arguments
    pages = list(Path(site).rglob("*.html"))
    found = list(broken(Path(site)))
    print("\n".join([*found, f"{len(pages)} pages, {len(found)} broken links"]))
    return int(bool(found) or not pages)


if __name__ == "__main__":
    sys.exit(main())
