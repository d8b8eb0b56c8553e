"""What knowledge costs: matching lexicons, and tagging by the full recipe from file to file."""

from __future__ import annotations

import os
from functools import partial

from benchmarks.setting import command, seconds
from skipchain import CRF, Corpus, load, save
from skipchain.annotators.phrase_lists import read_lexicon
from skipchain.datasets.registry import data_folder, data_set
from skipchain.parallel import Workers
from skipchain.recipes import recipe

COPIES = 8  # of testb in the file that is tagged
PHRASES = 200.0  # MB that half a million phrases may take


def measure(report, setting):
    train, test = (data_set("conll2003").read(part) for part in ("train", "testb"))
    lists = data_folder() / "gazetteers" / "illinois"
    os.environ["SKIPCHAIN_CACHE"] = str(setting.folder / "cache")
    lexicon = read_lexicon(lists)
    report.add(
        "tokens a second that a lexicon is matched with, one core",
        train.n_tokens / seconds(partial(lexicon.columns, train, Workers(1)), setting.repeat), 1e6,
    )  # fmt: skip
    report.add(
        f"MB of {len(lexicon):,} phrases", lexicon.phrases.nbytes / 2**20, PHRASES, at_most=True
    )
    report.add("s to read them again", seconds(partial(read_lexicon, lists), 3), 1.0, at_most=True)
    features = recipe(
        "ner-full", features="ner-full", lexicons=lexicon,
        clusters=data_folder() / "brown-clusters/bllip-clusters.txt.xz",
        folds=2, epochs=10,
    )  # fmt: skip
    file = setting.folder / "full.skip"
    save(CRF(features, epochs=10).fit(train), file, overwrite=True)
    many = setting.folder / "many.conll"
    text = Corpus.concatenate([test] * COPIES)
    text.write(many, overwrite=True)
    tagger, out = load(file), setting.folder / "out.conll"
    tag = partial(tagger.tag_file, many, out, overwrite=True)
    tag()  # the first call compiles kernels and meets the words
    spent = seconds(tag, 3)
    report.add("tokens a second by the full recipe, file to file", text.n_tokens / spent, 400_000)
    whole = seconds(
        partial(command, "tag", file, many, "-o", out, "--overwrite"), 3
    )  # fmt: skip
    report.console.print(f"{text.n_tokens:,} tokens in a new process: {whole:.2f} s")
