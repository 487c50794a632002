#!/usr/bin/env python3
"""Checks the links between the HTML files of a folder: each leads to a file, and to an element that has the name.

Usage: html-links.py FOLDER
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of a page, and the names of its elements."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.names = {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.update(attributes[key] for key in ("id", "name") if attributes.get(key))
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link is not None:
            self.links.append(link)


def main(folder):
    pages = {path.resolve(): Page(path.read_text()) for path in folder.rglob("*.html")}
    dead = []
    count = 0
    for path, page in pages.items():
        # The page of all pages repeats the others, with links from their places.
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            count += 1
            file = (path.parent / urllib.parse.unquote(target.path)).resolve() if target.path else path
            there = file.exists() and (file not in pages or target.fragment in pages[file].names)
            if not there:
                dead.append(f"{path.name}: no {link}")
    print(f"{len(pages)} pages, {count} links within them, {len(dead)} of them dead")
    print("\n".join(dead))
    return 1 if dead or not pages else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
