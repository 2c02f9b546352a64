"""The version stands in one place, the public header of the library."""

import pathlib
import re

import setuptools

header = pathlib.Path(__file__).resolve().parent.parent / "include" / "sluice_version.h"
setuptools.setup(version=".".join(re.findall(r"SLUICE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())))
