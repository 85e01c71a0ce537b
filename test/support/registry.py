"""What a package registry of the test's serves: one tiny package, for npm and for pip. usage: registry.py FOLDER URL

FOLDER is filled (it must be there), URL is where it will be served, with a slash at its end. A module too: proxy_cases.py.
"""

import io
import json
import os
import sys
import tarfile
import zipfile

WHEEL = "tiny-1.0-py3-none-any.whl"


def fill(folder, url):
    """npm asks for URL/tiny and takes what that names; pip reads the links of URL/links.html."""
    described = json.dumps({"name": "tiny", "version": "1.0.0"}).encode()
    with tarfile.open(os.path.join(folder, "tiny.tgz"), "w:gz") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(described)
        archive.addfile(entry, io.BytesIO(described))
    version = {"name": "tiny", "version": "1.0.0", "dist": {"tarball": url + "tiny.tgz"}}
    with open(os.path.join(folder, "tiny"), "w", encoding="ascii") as file:
        json.dump({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, file)
    with zipfile.ZipFile(os.path.join(folder, WHEEL), "w") as wheel:
        info = "tiny-1.0.dist-info/"
        wheel.writestr("tiny.py", "")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
    with open(os.path.join(folder, "links.html"), "w", encoding="ascii") as file:
        file.write(f'<!DOCTYPE html><html><body><a href="{WHEEL}">{WHEEL}</a></body></html>')


if __name__ == "__main__":
    fill(sys.argv[1], sys.argv[2])
