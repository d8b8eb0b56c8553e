"""The advice of every error is followed, and works: commands as they stand, options put in.

`CASES` says for each text of the source which advises something how a user comes to see it, and
what they then type. Texts that only name what was wrong are listed in `NAMED`. A new text that is
in neither fails the first test.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import nullcontext

import pytest

from skipchain import CRF, cli, read
from skipchain.datasets.harbour import harbour
from skipchain.extras import install_command
from skipchain.modelfile import Checkpoint
from tests.advice import advice_in_source

QUICK = ("--features", "word", "--set", "epochs=1", "--overwrite")
TRAIN = ("train", "train.conll", "-o", "n.skip", *QUICK)
CASES = {}
"""What is done about each advice, by a part of its text."""
ELSEWHERE = ("cli/app.py", "cli/gone.py", "cli/hints.py", "assembly.py:79")
"""Examples of help; names of old options and of those meant, which have tests of their own."""
NAMED = {
    # what was wrong, and needs no other option
    "and all of it is held in memory, up",
    "the label is what is learnt; leave it in", "the data have no such column", "leave one out",
    "texts have neither --from nor", "labels in a file are compared as they are",
    "--text is empty", "--nbest must be from", "--map gives", "--map {",
    "--only takes a list", "for --only to keep", "; --map makes of them", "--only is for types of",
    "--plot draws hidden units", "is not learnt by a solver", "--force needs labels in the input",
    "--set {text}: {name} needs", "both have a setting", "takes a size such as", "--map takes",
    "name a file that ends so", "it is closed; name a file with -o", "takes whole numbers with",
    "--separator takes", "one file is written; name one of them",
    # parts of a command that is put together elsewhere, and what is no error
    "--auto tries several settings, and --start belongs to one", "The search: the settings of",
    "--auto trains many models, and a checkpoint is of one",
    "--set {text}", "pip install {requirement",
}  # fmt: skip
EXACT = {
    "--from", "--scheme", "--charset", "--repair", "--help", "--version", "--auto", "--budget",
    "--budget=", "--consistency", "--learn-as", "--set", "--without",
    "--checkpoint", "--checkpoint-every", "--resume", "--threads", "--json", "--quiet",
    "--overwrite",
}  # fmt: skip
"""Words of which a command is put together, or that are looked for in one."""
BY_MACHINE = ("ulimit -v", "ulimit -n")  # tests/cli/test_environments.py


def advice(*parts):
    """Marks a test that follows the advice with these parts in its text."""

    def mark(test):
        CASES.update(dict.fromkeys(parts, test.__name__))
        return test

    return mark


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files and models to make mistakes with."""
    here = tmp_path_factory.mktemp("advice")
    corpus = harbour()[:60]
    corpus.write(here / "train.conll")
    text = (here / "train.conll").read_text()
    (here / "odd.conll").write_text(text.replace(" B-PER", " I-PER"))
    (here / "one odd.conll").write_text(text * 20 + "Ada I-PER\n")
    rows = [re.sub(r"^(\S+) (\S+)$", r"\1 NN \2", line) for line in text.split("\n")]
    (here / "pos.conll").write_text("\n".join(rows))
    (here / "latin.conll").write_bytes("Zoë B-PER\nran O\n".encode("latin-1") * 20)
    (here / "wide.conll").write_bytes("Zoë B-PER\nran O\n".encode("utf-16-le") * 20)
    (here / "words.txt").write_text("Ada ran to Oslo.\n" * 20)
    (here / "unknown.dat").write_text("Ada ran, and ran; it was far.\nOslo was near!\n")
    before = os.getcwd()
    os.chdir(here)
    try:
        called("train", "train.conll", "-o", "m.skip", *QUICK)
    finally:
        os.chdir(before)
    return here


@pytest.fixture
def here(data, tmp_path, monkeypatch):
    """A copy of the files, so that no test sees what another has written."""
    shutil.copytree(data, tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    return tmp_path / "files"


def called(*arguments):
    """Run a command line as it is."""
    before, sys.argv = sys.argv, ["skipchain", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as left:
            cli.main()
    finally:
        sys.argv = before
    assert not left.value.code


@pytest.fixture
def fails(run):
    """Run a command that fails, and give what it says, in which the advice has to be."""

    def call(told, *command):
        code, _, err = run(*command)
        assert code == 2, (command, err)
        assert told in err, err
        return err

    return call


@pytest.fixture
def works(run):
    """Run a command that works, given as one text or as several; what it says."""

    def call(*command):
        words = shlex.split(command[0]) if len(command) == 1 else list(command)
        words = words[1:] if words[0] == "skipchain" else words
        code, out, err = run(*words)
        assert code == 0, (words, err)
        return out + err

    return call


def test_every_advice_is_followed_by_a_test():
    found = advice_in_source()
    known = {*CASES, *NAMED, *BY_MACHINE}
    new = {
        text: place
        for text, place in found.items()
        if not place.startswith(ELSEWHERE)
        and text not in EXACT
        and not any(part in text for part in known)
    }
    assert new == {}, "follow this advice in a case of tests/cli/test_advice.py"
    assert {part for part in known if not any(part in text for text in found)} == set()


# Settings ----------------------------------------------------------------------------------------


@advice("--consistency or --factors")
def test_settings_of_factors_need_factors(here, fails, works):
    err = fails("needs --consistency or --factors", *TRAIN, "--set", "penalties=given")
    option = re.search(r"needs (--\w+)", err)[1]
    works(*TRAIN, "--set", "penalties=given", option)


@advice("--budget is the time that --auto may take; give --auto, too")
def test_a_budget_needs_a_search(here, fails, works):
    given = (*TRAIN, "--features", "word", "--budget", "1s")
    fails("give --auto, too", *given)
    works(*given, "--auto")


@advice(
    "--auto tries many models in memory, and --scratch is for more data than it holds",
    "leave out --scratch or --cluster",
)
def test_a_search_is_in_memory(here, fails, works):
    given = (*TRAIN, "--features", "word", "--scratch", ".")
    fails("leave one out", *given, "--auto")
    fails("leave out --scratch or --cluster", *given, "--cluster", "auto")
    works(*given)


@advice("--checkpoint-every says how often; give --checkpoint FILE, too")
def test_how_often_needs_a_checkpoint(here, fails, works):
    given = (*TRAIN, "--checkpoint-every", "1")
    fails("give --checkpoint FILE, too", *given)
    works(*given, "--checkpoint", "c")


@advice("(--resume, resume=True), or use --overwrite", "leave --checkpoint {checkpoint} out")
def test_a_checkpoint_that_is_there(here, fails, works):
    given = TRAIN[:-1]  # without --overwrite
    for option in ("--resume c", "--checkpoint c --overwrite"):
        kept = Checkpoint("c", every=1, arguments=TRAIN[1:])
        CRF("word", epochs=1).fit(read("train.conll"), checkpoint=kept)
        (here / "n.skip").unlink(missing_ok=True)
        fails("go on with it (--resume, ", *given, "--checkpoint", "c")
        err = fails("leave --checkpoint d out", *given, "--checkpoint", "d", "--resume", "c")
        assert "--resume c goes on" in err
        works(*given, *option.split())


@pytest.mark.slow
@advice("names recur in these documents: --consistency or --recipe ner-knowledge often finds")
def test_what_is_advised_where_names_recur(here, works):
    harbour().write("documents.conll")
    given = ("train", "documents.conll", "--epochs", "1", "--overwrite", "-o", "n.skip")
    assert "names recur in these documents: " in works(*given)
    works(*given, "--consistency")
    works(*given, "--recipe", "ner-knowledge")
    works(*given, "--auto", "--budget", "1s")


@advice("--recipe, such as --recipe ner-knowledge")
def test_settings_of_recipes_need_a_recipe(here, fails, works):
    given = ("train", "train.conll", "-o", "n.skip", "--set", "epochs=1", "--set", "lexicons=[]")
    err = fails("such as --recipe ner-knowledge", *given)
    works(*given, *shlex.split(re.search(r"such as (--recipe \S+)", err)[1]))


@advice("--set {owner}.{text}")
def test_a_setting_that_two_parts_have(here, fails, works):
    given = (*TRAIN, "--solver", "lbfgs:max_iterations=2", "--consistency")
    given = tuple(word for word in given if word != "epochs=1" and word != "--set")
    err = fails("say which: ", *given, "--set", "tolerance=0.1")
    for option in re.findall(r"--set \S+=\S+(?= or|$)", err.split("say which: ")[1].strip()):
        works(*given, *shlex.split(option))


READ = "skipchain.io.formats.read_told"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "patched", "option"),
    [
        (TRAIN, READ, "--set min_count=2"),
        (("compare", "train.conll", "--test", "train.conll", "--models", "hmm", "--features",
          "word"), READ, "--set min_count=2"),
        (("induce", "train.conll", "--from", "word", "-o", "t", "--overwrite", "--rounds", "1",
          "--model", "maxent:epochs=1"), READ, "--longest 2 --set min_count=2"),
        (("brown", "words.txt", "-o", "b.txt", "--overwrite", "-c", "3"),
         "skipchain.resources.bigrams.Bigrams.count", "--min-count 6"),
        (("ngrams", "count", "words.txt", "-o", "counts", "--overwrite", "--orders", "2"),
         "skipchain.resources.ngrams.NgramStore.count", "--memory 200MB"),
        (("reproduce", "toy1"), "skipchain.reproduce.reproduce", "--quick"),
    ],
)  # fmt: skip
@advice(
    "use less data, fewer features or --set min_count=2",
    "use less data, a lower --longest or --set min_count=2",
    "use less text, fewer clusters or a higher --min-count",
    "use a smaller --memory, or count the texts in parts",
    "use --quick",
)
def test_too_little_memory(here, fails, works, monkeypatch, command, patched, option):
    if command[0] == "ngrams":
        pytest.importorskip("duckdb")

    def too_little(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(patched, too_little)
        err = fails("out of memory; use ", *command)
    for name in re.findall(r"--[\w-]+", option):
        assert name in err
    if command[0] == "reproduce":
        command = ("reproduce",)  # the list of tables; measuring them is for other tests
    works(*command, *option.split())


COUNT = ("ngrams", "count", "words.txt", "-o", "counts", "--overwrite", "--orders", "2")


@advice("give the database more (--memory, memory=)")
def test_too_little_memory_for_the_database(here, fails, works):
    pytest.importorskip("duckdb")
    fails("too little memory to count in", *COUNT, "--memory", "1KB")
    works(*COUNT, "--memory", "100MB")


@advice("name a folder with more room for what is counted meanwhile (--scratch, scratch=)")
def test_a_full_scratch_disk(here, fails, works, monkeypatch):
    pytest.importorskip("duckdb")

    def full(counter, *_):
        raise OSError(errno.ENOSPC, "No space left on device", str(counter.folder / "a"))

    with monkeypatch.context() as patch:
        patch.setattr("skipchain.resources.ngrams.counting.NgramCounter.write", full)
        fails("name a folder with more room", *COUNT)
    (here / "roomy").mkdir()
    works(*COUNT, "--scratch", "roomy")


@pytest.mark.slow
@advice("--workers are those of a cluster; name one, as --cluster auto")
def test_workers_need_a_cluster(here, fails, works):
    ray = pytest.importorskip("ray")
    pytest.importorskip("duckdb")
    fails("name one, as --cluster auto", *COUNT, "--workers", "1")
    fails("name one, as --cluster auto", "brown", "words.txt", "-o", "b.txt", "--workers", "1")
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        works(*COUNT, "--workers", "1", "--cluster", "auto")
    finally:
        ray.shutdown()


# Columns and labels ------------------------------------------------------------------------------


@advice("read with --from conll --columns word,label")
def test_columns_in_a_file_that_is_called_plain_text(here, fails, works):
    given = ("train", "train.conll", "-o", "n.skip", "--set", "epochs=1")
    err = fails("it is plain text; columns are read with", *given, "--from", "text")
    works(*given, *shlex.split(re.search(r"read with (--from conll --columns \S+)", err)[1]))


@advice("--without {','.join(beyond)}", "train a model without it (--without {name})")
def test_a_column_that_plain_text_has_not(here, fails, works):
    given = ("train", "pos.conll", "--columns", "word,pos,label", "--set", "epochs=1",
             "--features", "word\npos", "--overwrite", "-o", "p.skip")  # fmt: skip
    told = works(*given)
    fails("(--without pos)", "tag", "p.skip", "train.conll")
    works("tag", "p.skip", "pos.conll", "--columns", "word,pos,_", "--to", "jsonl")
    works(*given, *re.search(r"train with (--without \S+)", told)[1].split())
    works("tag", "p.skip", "train.conll")


@advice("will not be read (--features {richer}")
def test_a_column_that_is_not_read(here, works):
    given = ("train", "pos.conll", "--columns", "word,pos,label", "-o", "p.skip", "--overwrite",
             "--set", "epochs=1")  # fmt: skip
    told = works(*given)
    option = re.search(r"\((--features \S+) reads it\)", told)[1]
    assert "tagging will need the columns word, pos" in works(*given, *option.split())


@advice("name the label column with --columns, such as word,label")
def test_a_file_without_labels(here, fails, works):
    fails("such as word,label", *(("train", "pos.conll", "--columns", "word,pos,_", *TRAIN[2:])))
    works("train", "pos.conll", "--columns", "word,_,label", *TRAIN[2:])


@advice("name them all with --columns (columns=), such as")
def test_numbers_in_place_of_words(here, fails, works):
    (here / "numbers.csv").write_text("0,Ada,B-PER\n0,ran,O\n1,Bo,B-PER\n1,ran,O\n")
    err = fails("with --columns", "convert", "numbers.csv", "c.jsonl")
    option = re.search(r"(--columns) \(columns=\), such as (\S+)", err).groups()
    assert "2 sentences" in works("convert", "numbers.csv", "c.jsonl", *option)


@advice("? then say --columns {named}")
def test_a_column_that_could_cut_sentences(here, works):
    rows = "".join(f"s{k // 10},w{k % 7},O\n" for k in range(1200))
    (here / "long.csv").write_text(f"quux,word,label\n{rows}")
    told = works("convert", "long.csv", "c.jsonl")
    option = re.search(r"then say (--columns \S+)", told)[1].split()
    assert "120 sentences" in works("convert", "long.csv", "c.jsonl", "--overwrite", *option)


@advice("cannot be converted; name it with --scheme")
def test_labels_of_no_scheme_are_not_converted(here, fails, works):
    given = ("convert", "train.conll", "c.conll", "--to-scheme", "bioes")
    fails("name it with --scheme", *given, "--scheme", "none")
    works(*given, "--scheme", "iob2")


@advice("spans, name it: --scheme bare", "where runs of one are spans, train it with --scheme bare")
def test_fields_beside_o(here, fails, works):
    (here / "f.conll").write_text("Main street\nRoad street\nin O\nOslo city\n\n" * 3)
    given = ("train", "f.conll", *TRAIN[2:])
    assert "spans, name it: --scheme bare" in works(*given)
    fails("train it with --scheme bare", "tag", "n.skip", "f.conll", "--format", "inline")
    convert = ("convert", "f.conll", "c.conll", "--to-scheme", "bioes")
    fails("spans, name it: --scheme bare", *convert)
    works(*convert, "--scheme", "bare")
    works(*given, "--scheme", "bare")
    works("tag", "n.skip", "f.conll", "--format", "inline")
    told = works("eval", "n.skip", "f.conll")
    assert "scheme bare (as the model has learnt its labels)" in told
    assert "--scheme bare" not in told
    assert "street  " in told


@advice("--only {','.join(sorted(gold))}")
def test_types_that_only_the_model_has(here, works):
    (here / "two.conll").write_text("Ada B-PER\nran O\nOslo B-LOC\n\n")
    told = works("eval", "m.skip", "two.conll")
    found = re.search(r"gold has no (.+), which the model has; (--only LOC,PER) leaves", told)
    assert "ORG" in found[1]
    assert "gold has no" not in works("eval", "m.skip", "two.conll", *found[2].split())
    assert "gold has no" not in works("eval", "m.skip", "train.conll")
    assert "gold has no" not in works("eval", "m.skip", "two.conll", "-q")


@pytest.mark.slow
@advice("follow no common scheme: {listed}; use --scheme", "name one scheme that fits both")
def test_files_of_several_schemes(here, fails, works):
    (here / "tags.conll").write_text("the DET\ndog NOUN\nran VERB\n" * 3)
    given = ("train", "train.conll", "tags.conll", *TRAIN[2:])
    fails("use --scheme", *given)
    works(*given, "--scheme", "none")
    given = ("compare", "train.conll", "--test", "tags.conll", "--models", "hmm", "--features",
             "word")  # fmt: skip
    fails("(--scheme)", *given)
    works(*given, "--scheme", "none")


@advice("mend them while reading (--repair, repair=True)")
def test_many_labels_break_their_scheme(here, fails, works):
    err = fails("--repair", "train", "odd.conll", *TRAIN[2:])
    works("train", "odd.conll", *TRAIN[2:], "--repair")
    works(err[err.index("skipchain convert") :])
    works("train", "odd.repaired.conll", *TRAIN[2:])


@advice("; --no-repair (repair=False) leaves labels as they are")
def test_few_labels_break_their_scheme(here, works):
    given = ("convert", "one odd.conll", "c.conll", "--overwrite")
    assert "--no-repair" in works(*given)
    works(*given, "--no-repair")
    assert (here / "c.conll").read_text().endswith("Ada I-PER\n\n")


@advice("(--learn-as none --set constraints=none)")
def test_broken_labels_cannot_be_learnt_in_another_scheme(here, fails, works):
    given = ("train", "odd.conll", *TRAIN[2:], "--no-repair", "--scheme", "iob2")
    err = fails("--learn-as none", *given)
    works(*given, *re.search(r"\((--learn-as [^)]+)\)", err)[1].split())
    works(*given, "--repair")


@advice("or use --set constraints=none (constraints='none')")
def test_broken_labels_cannot_be_learnt_under_constraints(here, fails, works):
    given = ("train", "odd.conll", *TRAIN[2:], "--no-repair", "--scheme", "iob2",
             "--learn-as", "none")  # fmt: skip
    err = fails("--set constraints=none", *given, "--set", "constraints=training")
    works(*given, *re.search(r"use (--set \S+)", err)[1].split())
    works(*given, "--set", "constraints=training", "--repair")


@advice("give some the names of others with --map A=B,C=D")
def test_types_of_other_names(here, works):
    text = (here / "train.conll").read_text().replace("-PER", "-PERSON").replace("-LOC", "-GPE")
    (here / "other.conll").write_text(text.replace("-ORG", "-COMPANY").replace("-MISC", "-X"))
    assert "--map A=B,C=D" in works("eval", "m.skip", "other.conll")
    assert "no type in common" not in works("eval", "m.skip", "other.conll", "--map", "PERSON=PER")


# Files -------------------------------------------------------------------------------------------


@advice("say so with charset= (--charset {other})")
def test_bytes_of_other_character_sets(here, fails, works):
    for file in ("latin.conll", "wide.conll"):
        given = ("convert", file, "c.conll", "--overwrite")
        err = fails("say so with charset=", *given)
        works(*given, *re.search(r"\((--charset \S+)\)", err)[1].split())
        assert "Zoë B-PER" in (here / "c.conll").read_text()


@advice("(on the command line, such as --charset latin-1)")
def test_a_character_set_that_it_is_not(here, fails, works):
    given = ("convert", "latin.conll", "c.conll", "--overwrite")
    err = fails("such as --charset", *given, "--charset", "ascii")
    works(*given, *re.search(r"such as (--charset [\w-]+)", err)[1].split())


@pytest.mark.skipif(shutil.which("iconv") is None, reason="needs iconv")
@advice("convert it: iconv -f {for_iconv} -t utf-8")
def test_lists_are_in_utf_8(here, fails, works):
    (here / "templates.txt").write_bytes("word # für Wörter\n".encode("latin-1"))
    given = ("train", "train.conll", "-o", "n.skip", "--set", "epochs=1", "--features")
    err = fails("convert it: iconv", *given, "templates.txt")
    command = shlex.split(re.search(r"iconv .*", err)[0])
    done = subprocess.run([*command, "templates.txt"], check=True, capture_output=True)
    (here / "converted.txt").write_bytes(done.stdout)
    works(*given, "converted.txt")


@advice("say which with format= (on the command line, --from or --to)")
def test_a_format_that_nothing_tells(here, fails, works):
    fails("--from or --to", "tag", "m.skip", "unknown.dat")
    works("tag", "m.skip", "unknown.dat", "--from", "text")
    fails("--from or --to", "convert", "train.conll", "c.dat")
    works("convert", "train.conll", "c.dat", "--to", "jsonl")


@advice("in a fraction of the time: --decoder viterbi")
def test_one_document_that_is_very_long(here, works):
    (here / "long.conll").write_text("Ada\nslept\n.\n\n" * 6500)
    told = works("tag", "long.conll", "-o", "tagged.conll")
    assert "labels will depend on each other across all of it" in told
    option = re.search(r"--decoder viterbi", told)[0]
    told = works("tag", "long.conll", "-o", "tagged.conll", "--overwrite", *option.split())
    assert "across all of it" not in told


@advice("-o OUT.jsonl")
def test_a_file_to_write_that_is_not_named(here, fails, works):
    err = fails("where is train.conll to be written", "convert", "train.conll")
    works(re.search(r"skipchain convert .*", err)[0])
    assert (here / "OUT.jsonl").exists()


@advice("one with commas or semicolons is csv (--from csv)")
def test_a_column_file_with_semicolons(here, fails, works):
    (here / "a.conll").write_text("Ada;B-PER\nran;O\n")
    given = ("convert", "a.conll", "-", "--separator", "semicolon")
    fails("(--from csv)", *given, "--from", "conll")
    works(*given, "--from", "csv")


@advice("no label has a prefix: where runs of one are spans, say --scheme bare")
def test_labels_without_prefixes(here, fails, works):
    (here / "io.conll").write_text("Ada PER\nran O\n\n" * 20)
    err = fails("--scheme bare", "convert", "io.conll", "-", "--scheme", "io")
    option = re.search(r"say (--scheme bare)", err)[1]
    assert "scheme bare" in works("convert", "io.conll", "-", *option.split())


@advice("; where runs of one label are spans, train the model with --scheme bare")
def test_labels_of_fields_beside_others(here, fails, works):
    (here / "io.conll").write_text("Ada PER\nran O\n\n" * 20)
    given = ("train", "io.conll", "-o", "io.skip", *QUICK)
    works(*given)
    err = fails("--scheme bare", "eval", "io.skip", "train.conll")
    works(*given, *re.search(r"with (--scheme bare)", err)[1].split())
    works("eval", "io.skip", "train.conll")


@advice("fit: --columns {columns}", "fit: --label {meant}")
def test_labels_of_another_column(here, fails, works):
    rows = "1\tAda\t_\tPROPN\tNNP\t_\t_\t_\t_\t_\n2\tran\t_\tVERB\tVBD\t_\t_\t_\t_\t_\n\n"
    (here / "ud.conllu").write_text(rows * 9)
    (here / "both.conll").write_text("Ada NNP B-PER\nran VBD O\n\n" * 9)
    works("train", "ud.conllu", "--label", "xpos", "-o", "x.skip", *QUICK)
    for file, option in (("ud.conllu", "--label"), ("both.conll", "--columns")):
        err = fails(f"fit: {option}", "eval", "x.skip", file)
        works("eval", "x.skip", file, *re.search(r"fit: (.*)", err)[1].split())


@advice("{path} exists already; use --overwrite")
def test_a_file_that_is_there(here, fails, works):
    fails("use --overwrite", "convert", "train.conll", "words.txt", "--to", "conll")
    works("convert", "train.conll", "words.txt", "--to", "conll", "--overwrite")


@pytest.mark.slow
@advice("name another folder, or use --overwrite")
def test_a_file_of_others_in_a_folder(here, fails, works):
    (here / "out").mkdir()
    (here / "out" / "comparison.md").write_text("mine")
    given = ("compare", "train.conll", "--test", "train.conll", "--models", "hmm", "--features",
             "word", "-o")  # fmt: skip
    fails("or use --overwrite", *given, "out")
    works(*given, "out2")
    works(*given, "out", "--overwrite")


@advice("raise it with max_bytes= (on the command line, --max-bytes)")
def test_a_file_that_is_too_large(here, fails, works):
    given = ("convert", "train.conll", "c.conll", "--overwrite", "--max-bytes")
    fails("--max-bytes", *given, "100")
    works(*given, "1M")


@advice(
    "several files to tag need a folder: -o FOLDER", "give a folder for them with -o FOLDER",
    "files need one: -o FOLDER", "files go into a folder: -o FOLDER",
)  # fmt: skip
def test_several_files_need_a_folder(here, fails, works):
    files = ("words.txt", "train.conll", "pos.conll")
    fails("-o FOLDER", "tag", *files[:2])
    fails("-o FOLDER", "tag", "m.skip", *files)
    fails("-o FOLDER", "tag", "m.skip", *files, "-o", "m.skip")
    fails("out.jsonl is called like a file", "tag", "m.skip", *files, "-o", "out.jsonl")
    assert not os.path.exists("out.jsonl")
    works("tag", *files[:2], "-o", "FOLDER")
    works("tag", "m.skip", *files, "-o", "FOLDER", "--overwrite")


@advice("--json and the clusters cannot both", "--json and the templates cannot both")
def test_two_answers_on_stdout(here, fails, works):
    for given in (
        ("brown", "words.txt", "-c", "3", "--json"),
        ("induce", "train.conll", "--from", "word", "--rounds", "1", "--model", "maxent:epochs=1",
         "--json"),
    ):  # fmt: skip
        fails("give -o a file", *given, "-o", "-")
        works(*given, "-o", "a.txt", "--overwrite")


# Commands ----------------------------------------------------------------------------------------


@pytest.mark.slow
@advice("--beam needs --decoder beam", "--beam needs beam among the --decoders")
def test_a_beam_needs_its_decoder(here, fails, works):
    fails("--decoder beam", "eval", "m.skip", "train.conll", "--beam", "3")
    works("eval", "m.skip", "train.conll", "--beam", "3", "--decoder", "beam")
    given = ("compare", "train.conll", "--test", "train.conll", "--models", "hmm", "--features",
             "word", "--beam", "3")  # fmt: skip
    fails("--decoders", *given)
    works(*given, "--decoders", "beam")


@pytest.mark.slow
@advice("nothing is kept without --output")
def test_an_interrupted_comparison(here, run, works, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    given = ("compare", "train.conll", "--test", "train.conll", "--models", "hmm", "--features",
             "word")  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("skipchain.comparison.run.run_in_subprocess", interrupted)
        assert "nothing is kept without --output" in run(*given)[2]
    works(*given, "--output", "kept")
    assert "done before" in works(*given, "--output", "kept")


@advice("{variable} is not set. Put the files", "skipchain data lists them", "says where it comes")
def test_where_data_come_from(here, works, monkeypatch):
    from skipchain.datasets.registry import data_set
    from skipchain.errors import CorpusError

    assert "skipchain data NAME" in works("data")
    with pytest.raises(CorpusError, match="skipchain data lists them"):
        data_set("btc").read("a")
    monkeypatch.setenv("SKIPCHAIN_DATA", str(here))
    with pytest.raises(CorpusError, match="says where it comes from") as error:
        data_set("btc").read("a")
    command = re.search(r"skipchain data \w+", str(error.value))[0]
    assert "https://github.com/" in works(command)


@pytest.mark.slow
@advice(
    "skipchain tag --text 'Angela", "skipchain tag {model} --text", "skipchain explain {model}",
    "skipchain inspect {model}", "skipchain train YOURS.conll",
)  # fmt: skip
def test_what_the_demonstration_says_to_try_next(here, works):
    shutil.copy("train.conll", "YOURS.conll")
    shutil.copy("train.conll", "HELD_OUT.conll")
    told = works("demo", "-o", "demo")
    commands = [line.strip() for line in told.splitlines() if line.strip().startswith("skipchain ")]
    assert len(commands) >= 5
    for command in commands:
        works(command)


@advice("; --limit 0 lists all, -o mistakes.html", "--limit and -o are about mistakes; use them")
def test_lists_of_mistakes(here, fails, works):
    given = ("eval", "m.skip", "train.conll")
    fails("use them with --errors", *given, "--limit", "3")
    works(*given, "--limit", "3", "--errors")
    assert "--limit 0 lists all" in works(*given, "--errors")
    assert "--limit 0" not in works(*given, "--errors", "--limit", "0")
    works(*given, "--errors", "-o", "mistakes.html")
    assert (here / "mistakes.html").exists()


@advice("a text is tagged with --text {")
def test_a_text_where_a_file_is_wanted(here, fails, works):
    for given in (("tag",), ("tag", "m.skip")):
        err = fails("Ada ran off: there is no such file; a text", *given, "Ada ran off")
        works(*given, *shlex.split(re.search(r"--text '.*'", err)[0]))
    fails("n.skp: there is no such file, neither a model", "tag", "n.skp", "--text", "Ada ran")


@advice("give --text or --file, one of them", "give a file or --text, not both")
def test_a_text_or_a_file(here, fails, works):
    fails("give --text or --file", "explain", "m.skip", "--token", "0")
    works("explain", "m.skip", "--token", "0", "--text", "Ada ran")
    works("explain", "m.skip", "--token", "0", "--file", "train.conll")
    fails("give a file or --text", "tag", "m.skip", "words.txt", "--text", "Ada ran")
    works("tag", "m.skip", "words.txt")
    works("tag", "m.skip", "--text", "Ada ran")


@advice("; --json has all)")
def test_more_than_a_person_reads(here, works):
    (here / "types.conll").write_text("".join(f"w{k} B-T{k}\n" for k in range(120)))
    works("train", "types.conll", "-o", "t.skip", "--learn-as", "none", *QUICK)
    assert "; --json has all)" in works("inspect", "t.skip")
    assert "B-T119" in works("inspect", "t.skip", "--json")


@advice("skipchain models KIND shows the settings")
def test_the_kinds_of_models(here, works):
    assert "skipchain models KIND" in works("models")
    for kind in ("crf", "hrf", "lbfgs"):
        works(f"skipchain models {kind}")


@pytest.mark.slow
@advice("train it with --consistency")
def test_samples_need_factors(here, fails, works):
    for option in (("--samples", "20"), ("--moves", "token")):
        fails("train it with --consistency", "tag", "m.skip", "train.conll", *option)
    works(*TRAIN, "--consistency")
    for option in (("--samples", "20"), ("--moves", "token")):
        works("tag", "n.skip", "train.conll", *option)


@advice("skipchain inspect shows what these do")
def test_hidden_states_are_not_explained(here, fails, works):
    works("train", "train.conll", "-o", "h.skip", "--model", "hrf:states=1,em=1,max_iterations=1",
          "--features", "word")  # fmt: skip
    fails("skipchain inspect shows", "explain", "h.skip", "--text", "Ada ran", "--token", "0")
    works("inspect", "h.skip")


@advice("--workers are those of a cluster", "--cluster is for files in blocks; leave it out")
def test_files_on_a_cluster(here, fails, works, monkeypatch):
    """Without one: tests/cluster/test_tagging.py has them."""
    monkeypatch.setattr(
        "skipchain.cli.commands.tag.cluster_labeller", lambda *given, **how: nullcontext()
    )
    command = ("tag", "m.skip", "train.conll", "--workers", "2")
    fails("give --cluster auto, too", *command)
    works(*command, "--cluster", "auto")
    for words in (("train.conll", "--force"), ("--text", "Ada ran")):
        fails("leave it out", "tag", "m.skip", *words, "--cluster", "auto")
        works("tag", "m.skip", *words)


@advice(
    "--workers is how many processes of a cluster", "leave out --cluster", "wanted the same in all",
    "name it (scheme=, --scheme)", "fewer documents than there are workers",
    "use fewer (--workers, --threads)", "(on the command line, --columns)",
    "use more workers (--workers)",
)  # fmt: skip
def test_training_on_a_cluster(here, fails, works, monkeypatch):
    """Without one; what is said of lost workers is more memory, which no command gives."""
    from skipchain.cluster import connection
    from tests.oracles.in_process_ray import InProcessRay

    monkeypatch.setattr(connection, "import_ray", lambda: InProcessRay(4))
    two = ("--cluster", "auto", "--workers", "2")
    fails("give --cluster auto, too", *TRAIN, "--workers", "2")
    works(*TRAIN, *two)
    works(*TRAIN, "--threads", "2")
    fails("leave out --cluster", *TRAIN, "--cluster", "auto", "--auto")
    fails("use fewer (--workers, --threads)", *TRAIN, *two, "--threads", "3")
    works(*TRAIN, *two, "--threads", "2")
    more = ("--overwrite", "--features", "word", "-o", "n.skip")
    (here / "b.conll").write_text("Ada NN PER\n\n" * 9)
    (here / "c.conll").write_text("Bo B-PER\n\n" * 12)
    given = ("train", "b.conll", "c.conll", *more, *two)
    fails("name them (--columns", *given)
    (here / "c.conll").write_text("Bo NN B-PER\n\n" * 9)
    fails("name it (scheme=, --scheme)", *given)
    works(*given, "--scheme", "none")
    (here / "d.conll").write_text("Bo B-PER\nran O\n")
    fails("use fewer", "train", "d.conll", *more, *two)
    works("train", "d.conll", *more, "--cluster", "auto", "--workers", "1")
    (here / "e.conll").write_text("Bo B-PER\n\nran O\n" * 50)
    given = ("train", "e.conll", *more, "--cluster", "auto", "--workers", "1")
    fails("--columns), such as", *given, "--columns", "word,pos")
    works(*given, "--columns", "word,label")


@advice("pip install {packages}")
def test_extras_are_installed_by_what_is_advised():
    """That pip can do what is said is shown without a network: it knows the requirement."""
    from packaging.requirements import Requirement

    words = shlex.split(install_command("plot"))
    assert words[:2] == ["pip", "install"]
    if words[2] == "-e" or os.sep in words[-1]:  # a clone
        folder, _, extras = words[-1].rpartition("[")
        assert os.path.isfile(os.path.join(folder, "pyproject.toml"))
        assert extras == "plot]"
    else:
        assert all(Requirement(word) for word in words[2:])


@advice("name the columns with --columns", "count it with --tags CORPUS")
def test_parts_of_speech_of_ngrams(here, fails, works):
    pytest.importorskip("duckdb")
    given = ("ngrams", "count", "words.txt", "--orders", "2", "--overwrite", "-o", "counts")
    works(*given)
    fails("count it with --tags CORPUS", "ngrams", "query", "counts", "<NN> ran")
    fails("name the columns with --columns", *given, "--tags", "train.conll")
    given = ("ngrams", "count", "pos.conll", "--orders", "2", "--overwrite", "-o", "counts")
    works(*given, "--tags", "pos.conll", "--columns", "word,pos,label")
    works("ngrams", "query", "counts", "<NN> was")
