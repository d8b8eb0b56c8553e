"""Standard feature sets, as plain template text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_SET = "ner-words"
"""What estimators have where nothing is said."""


def one_a_line(text: str) -> str:
    """Template text from families of templates: a family a line, two spaces between templates.

    >>> one_a_line("word  lower[-1] & shape")
    'word\\nlower[-1] & shape\\n'
    """
    return re.sub(r"\s{2,}", "\n", text.strip()) + "\n"


SHAPES = """
    shape  shortshape[-2..2]  shortshape[-1] & shortshape  shortshape & shortshape[1]
    shortshape[-1] & shortshape[1]  shortshape[-1] & shortshape & shortshape[1]
"""
# The families of Finkel, Grenager and Manning (2005), Table 2, column TF: words, character n-grams
# up to six, shapes alone and in sequence, and the presence of words on either side.
SEMINARS = one_a_line(
    f"""
    word  lower[-1..1]  ngrams(1, 6)
    {SHAPES}
    bag(lower, -9..-1)  bag(lower, 1..9)
    """
)

MONTHS = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?"
    "|nov(ember)?|dec(ember)?"
)
DAYS = "(mon|tues|wednes|thurs|fri|satur|sun)day"
ACRONYMS = (
    "AAAI|ACM|AFIPS|AI|AT&T|CMU|DARPA|IBM|ICML|IEEE|IFIP|IJCAI|INRIA|LNCS|MIT|NASA|NATO|NIPS"
    "|OOPSLA|SIAM|SIG[A-Z]+|UCLA|USENIX|VLDB"
)

# The families of Finkel, Grenager and Manning (2005), Table 2, column NER: words, n-grams, parts of
# speech, shapes, and the presence of words on either side. Which conjunctions of them are taken,
# and where case is folded, was chosen on CoNLL-2003's development set.
SPEECH = "pos?  pos?[-1] & pos?  pos? & pos?[1]  pos?[-1] & pos?[1]"


def _names(columns: str) -> str:
    return one_a_line(
        f"""
        word  lower[-2..2]  ngrams
        prefix(3)[-1]  prefix(3)[1]  suffix(3)[-1]  suffix(3)[1]
        {columns}
        {SHAPES}
        lower[-1] & shortshape  shortshape & lower[1]
        bag(lower, -4..-1)  bag(lower, 1..4)
        """
    )


NER, NER_WORDS = _names(SPEECH), _names("")

# Features of resources and of the whole document; their columns come from `skipchain.annotators`.
CLUSTERS = one_a_line(
    """
    prefix(brown?, 4)[-2..2]  prefix(brown?, 6)[-2..2]  prefix(brown?, 10)[-2..2]  brown?[-2..2]
    prefix(brown?, 6)[-1] & prefix(brown?, 6)  prefix(brown?, 6) & prefix(brown?, 6)[1]
    prefix(brown?, 10)[-1] & shortshape  shortshape & prefix(brown?, 10)[1]
    """
)
LEXICON = one_a_line("items(lexicon?)[-1..1]  items(lexicon?) & shortshape")
DOCUMENT = one_a_line(
    """
    zone?  zone? & shortshape  zone? & lower[-1]  zone? & lower[1]
    topic?  topic? & shortshape  topic? & lower  topic? & zone?
    pattern?  pattern? & topic?
    run?  run? & shortshape
    items(occurrence?)  items(occurrence?) & shortshape
    items(longer?)  items(context?)  items(context_clusters?)
    """
)
STACKING = one_a_line(
    """
    first_label?[-1..1]
    first_word?  first_word? & first_label?  first_word? & shortshape
    first_entity?  first_entity? & first_label?
    first_longer?  first_longer? & first_label?
    """
)
CHUNKS = one_a_line("chunk?[-1..1]  pos?[-2..2]  chunk? & pos?")

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "ner": NER,
        # The same without parts of speech, which plain text does not have: what is learnt with
        # these features can tag whatever people type.
        DEFAULT_SET: NER_WORDS,
        # All that is known: what a corpus has no column for is left out.
        "ner-full": NER + CHUNKS + CLUSTERS + LEXICON + DOCUMENT + STACKING,
        # Words and parts of speech in a window of five, alone and with their neighbours, as in
        # CRF++'s and CRFsuite's examples; affixes and shape help with words that training has not
        # seen. Chosen on the last fifth of CoNLL-2000's training sentences.
        "chunk": one_a_line(
            """
            word  lower[-2..2]  lower[-1] & lower  lower & lower[1]
            prefix(3)  suffix(2)  suffix(3)  shortshape[-1..1]
            pos[-2..2]  pos[-2] & pos[-1]  pos[-1] & pos  pos & pos[1]  pos[1] & pos[2]
            pos[-2] & pos[-1] & pos  pos[-1] & pos & pos[1]  pos & pos[1] & pos[2]
            pos[-1] & lower  lower & pos[1]  lower[-1] & pos  pos & lower[1]
            """
        ),
        # Words around and what they are made of: all character n-grams of the word, the endings of
        # its neighbours, shapes. Chosen on the development set of UD English-EWT.
        "pos": one_a_line(
            """
            word  lower[-2..2]  lower[-1] & lower  lower & lower[1]  lower[-1] & lower[1]  ngrams
            suffix(lower, 2)[-1]  suffix(lower, 3)[-1]  suffix(lower, 2)[1]  suffix(lower, 3)[1]
            shape  shortshape[-1..1]  shortshape[-1] & shortshape
            """
        ),
        # Words, forms and punctuation of bibliographic references. Chosen by cross-validation on
        # Cora's.
        "citation": """
            word
            stem(lower(trim(",.:;")))[-2..2]
            digits
            prefix(lower, 3)
            suffix(lower(trim(",.:;")), 3)
            shape
            shortshape[-2..2]
            shortshape[-1] & shortshape
            shortshape & shortshape[1]
            find("[^0-9A-Za-z]+$")[-2..1]
            match("^(1[89]|20)[0-9][0-9][a-z]?[.,;:]?$")[-1..1]
            match("^[0-9]+[-–]+[0-9]+[.,;:]?$")[-1..1]
            match("^[A-Z][.,]$")[-1..1]
            match("^[(].*[)]")[-1..1]
            match("^[\\"“`]")[-1..1]
        """,
        # Fields of seminar announcements.
        "seminars": SEMINARS,
        # More words around, and the layout of e-mails: where on its line a token stands, and on
        # what kind of line (see `skipchain.datasets.readers.seminars`). Chosen by three folds of
        # four fifths of the CMU announcements.
        "seminars-lines": SEMINARS
        + one_a_line(
            """
            lower[-2]  lower[2]  lower[-1] & shortshape  shortshape & lower[1]
            prefix(3)[-1]  prefix(3)[1]  suffix(3)[-1]  suffix(3)[1]
            place  rest  length  indent  gap  heading
            place & shortshape  rest & shortshape  indent & shortshape  gap & shortshape
            heading & shortshape  heading & place
            place & rest  place & rest & shortshape
            indent & gap  indent & gap & place & shortshape
            """
        ),
        # The features of Table 6.14 of Stewart's thesis (see `skipchain reproduce cora`), of the
        # token and both of its neighbours; its lists of names and places are not part of the set.
        # All but those of a token's end look past the commas, full stops, colons and semicolons
        # behind it.
        "reference": f"""
            match("")                                               # every token
            match(trim(",.:;"), "^[A-Z]")[-1..1]                    # begins with a capital
            match(trim(",.:;"), "^[A-Z]+$")[-1..1]                  # capitals only
            match(trim(",.:;"), "^[0-9]+$")[-1..1]                  # digits only
            match(trim(",.:;"), "[0-9]")[-1..1]                     # a digit in it
            match(trim(",.:;"), "[.]")[-1..1]                       # a full stop in it
            match(trim(",.:;"), "[-–]")[-1..1]                      # a dash in it
            match("^[A-Za-z][.]")[-1..1]                            # an initial
            match(trim(",.:;"), "^.$")[-1..1]                       # one character
            match(trim(",.:;"), "^[A-Z]$")[-1..1]                   # one capital
            match("(https?|ftp)://|www[.]")[-1..1]                  # an address on the web
            match(trim(",.:;"), "^[(\\\\[].*[)\\\\]]$")[-1..1]        # in parentheses
            match(trim(",.:;"), "^[(]?(1[89]|20)[0-9][0-9][a-z]?[)]?$")[-1..1]  # a year
            match("^[,.:;]+$")[-1..1]                               # punctuation only
            match(",$")[-1..1]                                      # how it ends …
            match("[.]$")[-1..1]
            match(":$")[-1..1]
            match(";$")[-1..1]
            match("[\\"”'][,.]?$")[-1..1]
            match("^[\\"“`']")[-1..1]                               # … or begins
            match(trim(",.:;"), "^({ACRONYMS})$")[-1..1]
            match(lower(trim(",.:;")), "^({MONTHS}|{DAYS})$")[-1..1]
            stem(lower(trim(",.:;")))[-1..1]
        """,
    }
)
