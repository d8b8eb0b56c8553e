"""Short lists of words that are no names of persons though they are capitalised."""

from __future__ import annotations

from skipchain.io.tokenizer import word_set

# Words before a name that say its bearer is a person; full stops are taken off.
ADDRESSES = word_set("mr mrs ms miss dr sir madame monsieur herr frau senor")
TITLES = ADDRESSES | word_set(
    """prof professor doctor lord lady dame president vice-president minister premier chancellor
    king queen prince princess pope captain capt colonel col general gen lieutenant lt sergeant sgt
    major maj corporal private senator sen congressman congresswoman representative rep governor
    gov mayor judge justice secretary chairman chairwoman director spokesman spokeswoman
    ambassador bishop archbishop rev reverend sheikh ayatollah sultan emir coach manager skipper
    striker midfielder defender goalkeeper commander commissioner inspector marshal admiral
    brigadier attorney prosecutor lawyer analyst economist trader champion leader opposition
    deputy vice chief officer executive prime foreign defence defense finance interior trade
    energy state crown acting former"""
)
DATES = word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december today tomorrow yesterday gmt est"""
)
# Peoples, faiths and parties.
GROUPS = word_set(
    """afghan african albanian algerian american angolan arab argentine argentinian armenian asian
    australian austrian azerbaijani bahraini bangladeshi basque belarussian belarusian belgian
    bolivian bosnian brazilian british bulgarian burmese burundian cambodian cameroonian canadian
    chechen chilean chinese colombian congolese croat croatian cuban cypriot czech danish dane
    dutch ecuadorean egyptian english eritrean estonian ethiopian european filipino finn finnish
    flemish french georgian german ghanaian greek guatemalan haitian hispanic honduran hungarian
    icelandic indian indonesian iranian iraqi irish israeli italian ivorian jamaican japanese
    jordanian kazakh kenyan korean kurd kurdish kuwaiti kyrgyz laotian latin latvian lebanese
    liberian libyan lithuanian macedonian malaysian maltese mexican moldovan mongolian moroccan
    mozambican namibian nepalese nepali nicaraguan nigerian norwegian omani pakistani palestinian
    panamanian paraguayan persian peruvian pole polish portuguese puerto romanian russian rwandan
    saudi scot scots scottish senegalese serb serbian singaporean slav slovak slovakian slovene
    slovenian somali spaniard spanish sudanese swede swedish swiss syrian taiwanese tajik tamil
    tanzanian thai tibetan tunisian turk turkish turkmen ugandan ukrainian uruguayan uzbek
    venezuelan vietnamese welsh yemeni yugoslav zairean zairian zambian zimbabwean sinhalese tutsi
    hutu zulu sikh anglican buddhist catholic christian hindu islamic islamist jew jewish moslem
    muslim orthodox protestant shiite sunni communist conservative democrat democratic labour
    liberal marxist nazi republican socialist tory gaullist northern southern eastern western
    north south east west"""
)
STOPS = word_set(
    """a about above after again against all also although am an and any are as at be because been
    before being below between both but by can could did do does doing down during each either
    even ever every few first for from further had has have having he her here hers herself him
    himself his how however i if in into is it its itself just last least less like many may
    meanwhile me more most much must my neither never next no nor not now of off on once one only
    or other others our ours out over own perhaps same second several shall she should since so
    some still such than that the their theirs them themselves then there these they this those
    though through thus to too two under until up upon very was we were what when where which
    while who whom whose why will with within without would yes yet you your yours"""
)
PARTICLES = word_set("de van der den von al bin ibn da di du la le el dos del ter ten")


def normalized(word: str) -> str:
    """The word in lower case without full stops at its end, as the lists have it."""
    return word.lower().rstrip(".")


def is_group(word: str) -> bool:
    """Whether the word names a people, a faith or a party, alone, in the plural or compounded.

    >>> is_group("Iraqis"), is_group("German-born"), is_group("Ada")
    (True, True, False)
    """
    name = normalized(word)
    return name in GROUPS or name.removesuffix("s") in GROUPS or name.partition("-")[0] in GROUPS
