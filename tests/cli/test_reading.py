"""How files are read is told in one line: header rows, index columns, exports of other tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import skipchain
from skipchain import CRF, Corpus
from skipchain.errors import CorpusError, ReadError, SkipchainWarning
from skipchain.io.columns.spreadsheet import format_csv, format_tsv, parse_csv
from skipchain.io.conll import format_conll, parse_conll
from skipchain.lookup.column_file import SMALL

UNER = """\
# newdoc id = blog
# sent_id = 1
1\tFrom\tO\t-\t-
2\tMiramar\tB-LOC\t-\tstephen
3\tBeach\tI-LOC\t-\tstephen

# sent_id = 2
1\tHi\tO\t-\t-
2\tAda\tB-PER\t-\tstephen
"""
HEADED = "token\tner\nAda\tB-PER\nslept\tO\n\nBo\tB-PER\nleft\tO\n"
KAGGLE = """\
Sentence #,Word,POS,Tag
Sentence: 1,Thousands,NNS,O
,of,IN,O
,",",",",O
,London,NNP,B-geo
Sentence: 2,Bo,NNP,B-per
,'s,POS,O
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("reading") / "m.skip"
    words = [["Ada", "slept"], ["Bo", "left"]] * 9
    labels = [["B-PER", "O"], ["B-PER", "O"]] * 9
    estimator = CRF("word", epochs=3).fit(Corpus.of(words, labels))
    skipchain.save(estimator, path)
    return path


def write(folder, name, text):
    path = Path(folder, name)
    path.write_text(text)
    return path


# What columns are ----------------------------------------------------------------------------


def test_a_header_row_is_no_word(tmp_path):
    corpus = skipchain.read(write(tmp_path, "a.tsv", HEADED))
    assert list(corpus.columns) == ["word", "label"]
    assert corpus.words.tolist() == ["Ada", "slept", "Bo", "left"]
    assert corpus.scheme == "iob2"
    assert corpus == skipchain.read(write(tmp_path, "a.train", HEADED))  # by content


def test_an_index_column_is_no_word(tmp_path):
    corpus = skipchain.read(write(tmp_path, "en-dev.iob2", UNER))
    assert list(corpus.columns) == ["id", "word", "label", "c1", "c2"]
    assert corpus[0].words == ["From", "Miramar", "Beach"]
    assert corpus.spans().tolist() == [(1, 3, "LOC"), (4, 5, "PER")]
    assert (corpus.n_documents, corpus.names) == (1, ("blog",))


def test_the_index_of_a_data_frame_runs_through_the_file():
    corpus = parse_conll("\tword\tlabel\n0\tAda\tB-PER\n1\tslept\tO\n\n2\tBo\tB-PER\n")
    assert list(corpus.columns) == ["id", "word", "label"]
    plain = parse_conll("0 Ada NNP B-PER\n1 slept VBD O\n\n2 Bo NNP B-PER\n")
    assert list(plain.columns) == ["id", "word", "pos", "label"]
    alone = parse_conll("1\tAda\n2\tslept\n3\twell\n4\ttoday\n")
    assert list(alone.columns) == ["id", "word"]


def test_a_table_of_another_tool_has_its_sentences(tmp_path):
    corpus = skipchain.read(write(tmp_path, "ner.csv", KAGGLE))
    assert list(corpus.columns) == ["sent_id", "word", "pos", "label"]
    assert [sentence.words for sentence in corpus] == [
        ["Thousands", "of", ",", "London"], ["Bo", "'s"],
    ]  # fmt: skip
    again = Path(tmp_path, "again.csv")
    corpus.write(again)
    assert again.read_text().splitlines()[0] == "Sentence #,Word,POS,Tag"
    assert skipchain.read(again) == corpus


def test_documents_of_a_table():
    text = "doc_id;token;label\na;Ada;B-PER\na;slept;O\nb;Bo;B-PER\n"
    corpus = parse_csv(text)
    assert (corpus.n_documents, corpus.names) == (2, ("a", "b"))
    assert parse_conll(format_conll(corpus)).names == ("a", "b")
    numbered = Corpus.of([["Ada"], ["Bo"]], [["B-PER"], ["O"]], documents=[1, 1])
    assert parse_csv(format_csv(numbered)).n_documents == 2
    assert format_csv(numbered, separator=";").startswith("doc_id;word;label\n1;Ada;B-PER\n")


@pytest.mark.parametrize("text", [
    "Text NN B-X\nis VBZ O\n",  # a word that could be a name, and labels that could not
    "Word O\nis O\n",
    "token tag\nof tag\n",  # the label comes again
    "1 CD O\nis VBZ O\n",
    "1 O\n2 O\n3 O\n4 O\n",  # numbers are words here
    "7 B-X\n8 I-X\n",
    "Ada NNP B-NP _\nslept VBD B-VP _\n",
    "Ada B-NP NNP\nslept B-VP VBD\n",
])  # fmt: skip
def test_ordinary_files_are_read_by_their_number_of_columns(text):
    corpus = parse_conll(text, scheme="none")
    assert corpus.n_tokens == text.count("\n")
    assert next(iter(corpus.columns)) == "word"
    assert list(corpus.columns)[-1] == "label"


def test_names_that_are_given_replace_those_of_a_header():
    corpus = parse_conll(HEADED, columns=["word", "label"])
    assert corpus.words.tolist() == ["Ada", "slept", "Bo", "left"]
    assert parse_conll(format_conll(corpus), columns=["word", "label"]) == corpus
    index = parse_conll("1 Ada\n2 slept\n3 well\n4 too\n", columns=["word", "label"], scheme="none")
    assert index.words.tolist()[:2] == ["1", "2"]
    headed = Corpus.of([["token", "Ada"]], [["ner", "B-PER"]], scheme="none")
    for odd in (headed, index):
        with pytest.raises(CorpusError, match="would be taken for"):
            format_conll(odd)


NUMBERED = "0,010,B-MISC\n0,ran,O\n0,home,O\n1,Ada,B-PER\n1,slept,O\n1,well,O\n"


@pytest.mark.parametrize("header", [
    "sentence_id,wordform,ner", "sent,tok,gold", "sid,tok,gold", "SentenceID,Token,NER",
    "sent_idx,word,iob-tag", "sentId,surface,label", "S_ID,text,label", "seq_id,form,tag",
    "utt_id,word,label", "example_id,word,label", "sentence_number,WordForm,label",
    "sent_no,quux,gold", "text_id,quux,blah",
])  # fmt: skip
def test_headers_have_many_names(header):
    corpus = parse_csv(f"{header}\n{NUMBERED}")
    assert [sentence.words for sentence in corpus] == [
        ["010", "ran", "home"],
        ["Ada", "slept", "well"],
    ]
    assert corpus.scheme == "iob2"
    assert list(corpus.columns) == ["sent_id", "word", "label"]


def test_a_column_of_numbers_by_another_name_ends_sentences(tmp_path, run):
    rows = "".join(f"{k}\tKirchgasse\tstreet\n{k}\t{9 * k}\tnumber\n" for k in range(40))
    file = write(tmp_path, "a.tsv", "address_id\ttoken\tfield\n" + rows)
    corpus = skipchain.read(file)
    assert (len(corpus), corpus.scheme) == (40, "bare")
    _, out, err = run("convert", file, "-")
    assert "40 sentences, 80 tokens" in err
    assert "columns sent_id, word, label, by the header row 'address_id', 'token', 'field'" in err
    assert out.startswith("address_id\ttoken\tfield\n0\tKirchgasse\tstreet\n")
    counted = write(tmp_path, "c.csv", "Satz;Wort;Tag\n" + rows.replace("\t", ";"))
    assert len(skipchain.read(counted)) == 40
    named = re.sub(r"(?m)^(\d+)\t", r"nr. \1\t", rows)
    other = write(tmp_path, "b.tsv", "adresse\ttoken\tfield\n" + named)
    _, _, err = run("convert", other, "-")
    assert "all 80 tokens are one sentence" in err
    assert "is it 'adresse'? then say --columns sent_id,word,label" in err


def test_a_list_of_objects_is_no_json_lines(tmp_path, run):
    file = write(tmp_path, "a.json", '[{"data": {"text": "Ada slept."}}]')
    code, _, err = run("convert", file, "-")
    assert (code, err.count("\n")) == (2, 1)
    assert "a.json:1: this is one list in JSON; one object a line is wanted" in err
    file = write(tmp_path, "a.jsonl", '{"words": ["Ada"], "ner": ["B-PER"]}\n')
    assert 'neither "tokens" nor "text"; it has "words", "ner"' in run("convert", file, "-")[2]


def test_tags_in_lines_that_are_alike_are_tags(tmp_path):
    file = write(tmp_path, "a.txt", "<PER>Ada Lee</PER> slept in <LOC>Oslo</LOC>.\n" * 20)
    assert skipchain.read(file).spans().tolist()[:2] == [(0, 2, "PER"), (4, 5, "LOC")]
    tokens = write(tmp_path, "b.txt", "<b>Ada</b> B-PER\nslept O\n" * 9)
    assert skipchain.read(tokens).words.tolist()[0] == "<b>Ada</b>"


def test_rows_of_a_table_that_differ_are_told_in_its_terms(tmp_path):
    with pytest.raises(ReadError, match=r"a\.csv:2: 2 columns, .* has 3; is a comma missing"):
        skipchain.read(write(tmp_path, "a.csv", ",word,label\nAda,B-PER\n"))
    with pytest.raises(
        ReadError, match=r"a\.csv:2: 3 columns, .* 2; is there a semicolon too many"
    ):
        skipchain.read(write(tmp_path, "a.csv", "word;label\nAda;B-PER;\n"))


def test_documents_have_many_names():
    for name in ("docId", "DocumentID", "doc_no", "file_id", "article-id"):
        corpus = parse_csv(f"{name},word,label\n{NUMBERED}")
        assert corpus.names == ("0", "1"), name


def test_numbers_are_not_words_unless_one_says_so(tmp_path, run, model):
    file = write(tmp_path, "a.csv", NUMBERED)
    code, _, err = run("convert", file, tmp_path / "b.jsonl")
    assert code == 2
    assert f"{file}:1: which column has the words? the first holds only whole numbers" in err
    assert "--columns (columns=), such as sent_id,word,label" in err
    code, _, err = run("convert", file, tmp_path / "b.jsonl", "--columns", "sent_id,word,label")
    assert code == 0
    assert "2 sentences, 6 tokens" in err
    for rows in ("1,O\n2,O\n", "quux,blah\n1,O\n2,O\n"):
        with pytest.raises(ReadError, match="which column has the words"):
            parse_csv(rows)
    assert parse_csv("1,O\n2,O\n", columns=["word", "label"]).words.tolist() == ["1", "2"]
    named = parse_csv("quux,blah\n1,O\n2,O\n", columns=["word", "label"])
    assert named.words.tolist() == ["1", "2"]
    with pytest.raises(ReadError, match="which column has the words"):
        parse_conll("17 Ada O\n17 ran O\n" * 5)
    assert parse_conll("1999 CD O\n").words.tolist() == ["1999"]
    with pytest.raises(CorpusError, match="would not be taken for words"):
        format_conll(parse_conll("17 Ada O\n" * 20, columns=["word", "c1", "label"]))
    with pytest.raises(CorpusError, match="a table cannot show this corpus"):
        format_csv(parse_csv("1,Ada\n2,Bo\n", columns=["word", "quux"]))


def test_columns_that_are_given_cut_a_table():
    for text in (NUMBERED, f"sentence_id,wordform,ner\n{NUMBERED}", f"foo,bar,baz\n{NUMBERED}"):
        for names in ("sent_id,word,label", "SentenceID,token,ner"):
            corpus = parse_csv(text, columns=names.split(","))
            assert [len(sentence) for sentence in corpus] == [3, 3]
            assert list(corpus.columns) == ["sent_id", "word", "label"]
    assert parse_csv(NUMBERED, columns=["doc_id", "word", "label"]).names == ("0", "1")
    assert list(parse_csv(NUMBERED, columns=["_", "word", "ner"]).columns) == ["word", "ner"]


def test_data_are_no_header_in_a_table():
    for text in ("Ada,B-PER\nslept,O\n", "the,DET\ndog,NOUN\nran,VERB\n", "No,UH\nI,PRP\n"):
        assert parse_csv(text).n_tokens == text.count("\n")
    headed = parse_csv("quux,blah\n" + "the,DET\ndog,NOUN\n" * 5)
    assert list(headed.columns) == ["word", "label"]
    assert headed.n_tokens == 10


def test_probabilities_that_tag_has_written_are_no_labels():
    corpus = parse_conll("Ada B-PER 0.9312\nslept O 0.9990\n")
    assert list(corpus.columns) == ["word", "label", "c1"]


def test_words_and_labels_come_by_the_name_that_says_more():
    corpus = parse_conll("tag ner token\nNNP B-PER Ada\nVBD O slept\n")
    assert list(corpus.columns) == ["tag", "label", "word"]
    other = parse_conll("word\tcategory\nAda\tB-PER\nslept\tO\n")
    assert list(other.columns) == ["word", "label"]
    assert format_conll(other).startswith("word\tcategory\n")


@pytest.mark.parametrize(("text", "told"), [
    ('word,label\n"Ada,B-PER\n', "no table"),
    ('word,label\n"A\nda",B-PER\n', "a.csv:2: a cell holds a line end"),
    ("word,label\nA\tda,B-PER\n", "a.csv:2: a cell holds a tab"),
])  # fmt: skip
def test_tables_that_cannot_be_read(text, told):
    with pytest.raises(ReadError, match=told):
        parse_csv(text, "a.csv")


def test_tables_that_cannot_be_written():
    with pytest.raises(CorpusError, match=r"cannot hold the word 'a\\tb'"):
        format_csv(Corpus.of([["a\tb"]]))
    for call in (lambda: parse_csv("a", separator="|"), lambda: format_csv(
        Corpus.of([["a"]]), separator="|"
    )):  # fmt: skip
        with pytest.raises(CorpusError, match="a comma, a semicolon or a tab"):
            call()
    headed = parse_csv("Sentence #,Word,Tag\na,Ada,B-PER\nb,slept,O\n")
    with pytest.raises(CorpusError, match="cannot hold the header 'Sentence #'"):
        format_conll(headed, separator=" ")


def test_tsv_is_written_and_read(tmp_path):
    corpus = Corpus.of([["New York", "is"], ["Bo"]], [["B-LOC", "O"], ["O"]])
    corpus.write(tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text().startswith("word\tlabel\nNew York\tB-LOC\n")
    again = skipchain.read(tmp_path / "a.tsv")
    assert (again.words, again.labels) == (corpus.words, corpus.labels)
    assert format_tsv(again) == format_tsv(corpus)
    assert format_tsv(Corpus.of([["Ada"]])) == "Ada\n\n"


# What is doubtful ----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [2, 1200])
def test_a_header_is_never_repaired_to_a_label(tmp_path, run, rows):
    file = write(tmp_path, "a.conll", "quux blah\n" + "Ada B-PER\nran O\n\n" * rows)
    code, _, err = run("convert", file, tmp_path / "b.jsonl")
    assert code == 2
    assert f"{file}:1: label 'blah' does not belong to iob2" in err
    assert "looks like a header with unknown names: take it out" in err


def test_errors_about_labels_name_the_line(tmp_path):
    file = write(tmp_path, "a.conll", "Ada B-PER\nBo B-PER\nCy B-PER\nhome blah\nagain blah\n")
    with pytest.raises(ReadError, match=r"a\.conll:4: label 'blah' does not belong to iob2"):
        skipchain.read(file)


def test_lists_in_cells_are_refused(tmp_path):
    rows = '"[""Ada"", ""slept""]","[""B-PER"", ""O""]"\n'
    for header in ("", "tokens,ner_tags\n", "sentence_id,tokens,ner_tags\n"):
        row = f"1,{rows}" if header.startswith("sentence") else rows
        with pytest.raises(ReadError, match=r"the words are lists .*one token a row is wanted"):
            skipchain.read(write(tmp_path, "a.csv", header + row * 3))


def test_a_text_a_row_is_refused(tmp_path, run, model):
    rows = "".join(f"Ada left Rome on day {k}.\n" for k in range(20))
    for header in ("", "text\n"):
        file = write(tmp_path, "a.csv", header + rows)
        code, out, err = run("tag", model, file)
        assert (code, out) == (2, "")
        assert "the words are texts ('Ada left Rome on day 0.'); one token a row is wanted" in err
    numbered = "id,text\n" + "".join(f"{k},{row}\n" for k, row in enumerate(rows.split("\n")[:-1]))
    with pytest.raises(ReadError, match="the words are texts"):
        skipchain.read(write(tmp_path, "b.csv", numbered))


def test_one_column_may_have_a_name(tmp_path, run, model):
    for name in ("word", "Token", "tokens"):
        for file in ("a.csv", "a.tsv"):
            source = write(tmp_path, file, f"{name}\nAda\nslept\n")
            code, out, err = run("tag", model, source)
            assert (code, out.split()) == (0, ["Ada", "B-PER", "slept", "O"]), err
            assert f"columns word, by the header row {name!r}" in err
    assert parse_csv("Ada\nword\n").words.tolist() == ["Ada", "word"]
    assert parse_conll("word\nAda\n").words.tolist() == ["word", "Ada"]


def test_labels_may_stand_before_words(tmp_path, run, model):
    rows = "".join(f"B-PER\tAda\nO\tran {k}\nO\t.\n\n" for k in range(5))
    for name in ("a.tsv", "a.conll"):
        corpus = skipchain.read(write(tmp_path, name, rows))
        assert corpus.words.tolist()[:2] == ["Ada", "ran 0"]
        assert corpus.scheme == "iob2"
    code, out, err = run("tag", model, write(tmp_path, "b.conll", rows.replace("ran ", "ran")))
    assert (code, out[:10]) == (0, "B-PER Ada\n"), err


def test_words_that_look_like_labels_are_not_written_as_columns():
    corpus = Corpus.of([["B-X", "O"]] * 9, [["a", "b"]] * 9, scheme="none")
    with pytest.raises(CorpusError, match="the words, which look like labels, would be taken for"):
        format_conll(corpus)
    with pytest.raises(CorpusError, match="a table cannot show this corpus"):
        format_csv(parse_csv("B-X,a\nO,b\n" * 9, columns=["word", "x"]))


def test_a_spreadsheet_may_name_its_separator(tmp_path):
    text = "sep=;\nWord;Tag\nAda;B-PER\nran;O\n"
    corpus = skipchain.read(write(tmp_path, "a.csv", text))
    assert corpus.words.tolist() == ["Ada", "ran"]
    with pytest.raises(ReadError, match=r"a\.csv:4: a cell holds a tab"):
        skipchain.read(write(tmp_path, "a.csv", text.replace("ran", "r\tan")))


@pytest.mark.parametrize("spelt", [("B_PER", "O"), ("b-PER", "o"), ("PER-B", "O"), ("b_PER", "0")])
def test_labels_that_are_all_spelt_otherwise_are_read_and_told(tmp_path, run, spelt):
    file = write(tmp_path, "a.conll", f"Ada {spelt[0]}\nran {spelt[1]}\n\n" * 9)
    code, out, err = run("convert", file, "-")
    assert (code, out[:16]) == (0, "Ada B-PER\nran O\n")
    assert f"labels are spelt in another way: {spelt[0]!r} is read as 'B-PER'" in err
    assert run("convert", file, "-", "--no-repair")[1].startswith(f"Ada {spelt[0]}\n")


def test_tabs_and_spaces_may_be_mixed(tmp_path, run):
    text = "Ada\tB-PER\nslept O\n. O\n\nBo B-PER\nleft\tO\n"
    for name in ("a.conll", "a.txt", "a.tsv"):
        corpus = skipchain.read(write(tmp_path, name, text))
        assert corpus.words.tolist() == ["Ada", "slept", ".", "Bo", "left"]
        assert corpus.spans().tolist() == [(0, 1, "PER"), (3, 4, "PER")]
    with pytest.raises(ReadError, match=r"a\.tsv:2: 1 column, but the first line has 2; is a tab"):
        skipchain.read(write(tmp_path, "a.tsv", "New York\tB-LOC\nis O\n"))


def test_separators_have_names(tmp_path, run):
    semicolons = write(tmp_path, "a.txt", "Ada;B-PER\nran;O\n")
    spaced = write(tmp_path, "b.conll", "Ada x\tB-PER\nran y\tO\n")
    for given in ((), ("--separator", "semicolon"), ("--separator", ";")):
        assert run("convert", semicolons, "-", *given)[1] == "Ada B-PER\nran O\n\n"
    code, out, _ = run("convert", spaced, "-", "--separator", "space", "--columns", "word,_,label")
    assert (code, out) == (0, "Ada B-PER\nran O\n\n")
    code, _, err = run("convert", semicolons, "-", "--separator", "blank")
    assert code == 2
    assert "--separator takes tab, space, comma, semicolon or the character itself" in err
    code, _, err = run("convert", spaced, "-", "--separator", "comma", "--from", "conll")
    assert "not ','; one with commas or semicolons is csv (--from csv)" in err
    with pytest.raises(ReadError, match="neither the ending nor the content tells"):
        skipchain.read(write(tmp_path, "c.dat", "First, he slept\nthen, he ran on\n"))


def test_every_command_takes_a_separator(tmp_path, run, model):
    file = write(tmp_path, "a.txt", "Ada;B-PER\nran;O\n\n" * 9)
    how = ("--separator", "semicolon")
    for command in (
        ("train", file, "-o", tmp_path / "m.skip", "--set", "epochs=1"),
        ("eval", model, file), ("compare", file, "--test", file, "--models", "hmm"),
        ("tag", model, file), ("convert", file, tmp_path / "b.jsonl"),
        ("explain", model, "--file", file, "--sentence", "0", "--token", "Ada"),
    ):  # fmt: skip
        code, _, err = run(*command, *how)
        assert code == 0, (command, err)


def test_a_sentence_a_row_is_refused(tmp_path):
    rows = "Ada slept,B-PER O\nBo left Rome,B-PER O B-LOC\n"
    for header in ("", "words,labels\n"):
        with pytest.raises(ReadError, match="the words are lists"):
            skipchain.read(write(tmp_path, "a.csv", header + rows))
    spaced = skipchain.read(write(tmp_path, "b.csv", "word,label\nNew York,B-a b c\nis,O\n"))
    assert spaced.words.tolist() == ["New York", "is"]


def test_a_header_of_unknown_names_is_told(tmp_path, run):
    file = write(tmp_path, "a.csv", "quux,blah\nAda,B-PER\nran,O\n")
    _, _, err = run("convert", file, tmp_path / "b.jsonl")
    assert "2 tokens; csv in utf-8; columns word, label, by the header row 'quux', 'blah'" in err


def test_a_model_that_learnt_nothing_is_doubtful(tmp_path, run):
    file = write(tmp_path, "a.conll", "Ada O\nran O\n")
    given = ("train", file, "-o", tmp_path / "m.skip", "--set", "epochs=1", "--features", "word")
    code, _, err = run(*given)
    assert code == 0
    assert "no weight is learnt; are these the words and labels that are meant?" in err


def test_a_long_file_of_one_sentence_is_doubtful(tmp_path, run):
    rows = [f"s{k // 10},w{k % 7},{'B-X' if k % 5 else 'O'}" for k in range(1200)]
    file = write(tmp_path, "a.csv", "quux,word,label\n" + "\n".join(rows))
    code, _, err = run("convert", file, tmp_path / "b.jsonl")
    assert code == 0
    assert f"{file}: all 1,200 tokens are one sentence" in err
    assert "is it 'quux'? then say --columns sent_id,word,label" in err
    code, _, err = run("convert", file, tmp_path / "c.jsonl", "--columns", "sent_id,word,label")
    assert "120 sentences, 1,200 tokens" in err
    assert "are one sentence" not in err
    with pytest.warns(SkipchainWarning, match="a blank line ends one$"):
        parse_conll("Ada B-PER\n" * 1200)


def test_swapped_columns_are_doubtful():
    rows = "".join(f"w{k} {'B-X' if k % 5 else 'O'}\n\n" for k in range(900))
    parse_conll(rows)
    with pytest.warns(SkipchainWarning, match="900 different labels in 900 tokens; are the col"):
        parse_conll(rows, columns=["label", "word"], scheme="none")
    with pytest.warns(SkipchainWarning, match="the words are column 2, which the header calls lab"):
        parse_conll(HEADED, columns=["label", "word"], scheme="none")


def test_old_macs_have_lines_too(tmp_path):
    for name, text in (("a.conll", "Ada B-PER\nslept O\n\nBo B-PER\n"), ("a.tsv", HEADED),
                       ("a.csv", KAGGLE), ("a.train", HEADED)):  # fmt: skip
        corpus = skipchain.read(write(tmp_path, name, text))
        (tmp_path / name).write_bytes(text.replace("\n", "\r").encode())
        assert skipchain.read(tmp_path / name) == corpus


# What is told --------------------------------------------------------------------------------


def test_every_command_says_how_a_file_was_read(tmp_path, run, model):
    file = write(tmp_path, "a.tsv", HEADED)
    how = (
        f"{file}: 1 document, 2 sentences, 4 tokens; tsv in utf-8; columns word, label, by the "
        "header row 'token', 'ner'"
    )
    inferred = f"{how}; scheme iob2 (B- opens every span: iob2)\n"
    commands = {
        ("train", file, "-o", tmp_path / "m.skip", "--set", "epochs=1"): inferred,
        ("eval", model, file): inferred,
        ("compare", file, "--test", file, "--models", "hmm"): inferred,
        ("convert", file, tmp_path / "b.jsonl"): inferred,
        ("tag", model, file): f"{how}; labels are replaced\n",
        ("tag", model, file, "--marginals"): f"{how}; labels are replaced\n",
    }
    for command, told in commands.items():
        code, _, err = run(*command)
        assert (code, err.count(told)) == (0, 1 + (command[0] == "compare")), command
        out = ("--overwrite",) if command[0] in ("train", "convert") else ()
        code, _, err = run(*command, *out, "--quiet")
        assert (code, err) == (0, ""), command
    code, out, err = run("eval", model, file, "--json")
    assert json.loads(out)["measure"] == "f1"
    assert how in err


def test_the_character_set_and_the_index_are_told(tmp_path, run, model):
    file = tmp_path / "a.conll"
    file.write_text("1 Ada O\n2 slept O\n", encoding="utf-16")
    _, out, err = run("tag", model, file)
    assert out == "1 Ada B-PER\n2 slept O\n\n"
    assert "conll in utf-16-le; columns id, word, label; the column id counts tokens" in err


def test_a_header_is_kept_by_tagging(tmp_path, run, model):
    file = write(tmp_path, "a.tsv", HEADED)
    _, out, _ = run("tag", model, file)
    assert out == f"{HEADED}\n"
    words = write(tmp_path, "b.tsv", "id\tToken\n1\tAda\n2\tslept\n")
    _, out, _ = run("tag", model, words)
    assert out == "id\tToken\tlabel\n1\tAda\tB-PER\n2\tslept\tO\n\n"
    for name in ("out.tsv", "out.csv"):
        code, _, _ = run("tag", model, words, "--marginals", "-o", tmp_path / name)
        assert code == 0
        tagged = skipchain.read(tmp_path / name)
        assert list(tagged.columns) == ["id", "word", "label", "probability"]
        assert tagged.labels.tolist() == ["B-PER", "O"]


@pytest.mark.parametrize("kind", ["header", "index", "plain"])
def test_much_text_is_read_like_little(tmp_path, run, model, kind):
    first, second = ("1\t", "2\t") if kind == "index" else ("", "")
    rows = f"{first}Ada\tO\n{second}slept\tO\n\n" * (SMALL // 8)
    file = write(tmp_path, "a.conll", "word\tner\n" * (kind == "header") + rows)
    _, out, err = run("tag", model, file)
    assert out.startswith({"header": "word\tner\nAda\tB-PER", "index": "1 Ada B-PER"}.get(kind, ""))
    assert f"1 document, {SMALL // 8:,} sentences, {SMALL // 4:,} tokens; conll in utf-8" in err
    corpus = skipchain.read(file)
    columns = f"columns {', '.join(corpus.columns)}"
    assert columns in err
    tagged = parse_conll(out)
    assert tagged.words == corpus.words
    assert "B-PER" in tagged.labels.values


def test_documents_of_much_text_are_counted(tmp_path, run, model):
    document = "-DOCSTART- O\n\n" + "Ada O\nslept O\n\n" * 400
    file = write(tmp_path, "a.conll", document * 20 + "-DOCSTART- O\n\n")
    assert file.stat().st_size > SMALL
    _, _, err = run("tag", model, file)
    corpus = skipchain.read(file)
    assert f"{corpus.n_documents} documents, 8,000 sentences, 16,000 tokens" in err


# Where there are no labels -------------------------------------------------------------------


@pytest.mark.parametrize(("name", "text", "advice"), [
    ("a.jsonl", '{"tokens": ["Ada"]}\n', 'need "labels" beside "tokens"'),
    ("a.txt", "Ada slept.\n", "--from conll --columns word,label"),
    ("a.conll", "Ada\nslept\n", "--columns, such as word,label"),
])  # fmt: skip
def test_where_labels_would_be_is_said_by_format(tmp_path, run, name, text, advice):
    file = write(tmp_path, name, text)
    code, _, err = run("train", file, "-o", tmp_path / "m.skip", "--quiet")
    assert code == 2
    assert advice in err


# Where it goes --------------------------------------------------------------------------------


def test_a_file_to_write_may_be_named_with_an_option(run, tmp_path):
    source = tmp_path / "a.conll"
    source.write_text("Ada B-PER\nran O\n")
    assert run("convert", source, "-o", tmp_path / "b.jsonl")[0] == 0
    assert (tmp_path / "b.jsonl").exists()
    assert run("convert", source, "-o", "-")[1] == "Ada B-PER\nran O\n\n"
    code, _, err = run("convert", source, tmp_path / "c.jsonl", "-o", tmp_path / "d.jsonl")
    assert (code, "one file is written; name one of them" in err) == (2, True)
