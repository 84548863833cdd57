"""The closed word lists of the claims grammar, one name for each role a word can play.

Everything is lowercase and already cut into tokens. A word that could go either way (`working`, `good`, `ready`) is
left out of a list on purpose where a wrong reading would cost a correct diagnosis. Source: evaluation semantics 5.4,
5.5.
"""


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


STEMS = {
    "isn": "is",
    "aren": "are",
    "wasn": "was",
    "weren": "were",
    "don": "do",
    "doesn": "does",
    "didn": "did",
    "hasn": "has",
    "haven": "have",
    "hadn": "had",
    "won": "will",
    "wouldn": "would",
    "couldn": "could",
    "shouldn": "should",
    "mustn": "must",
    "needn": "need",
    "can": "can",
    "ain": "is",
}
"""What stands before an apostrophe and `t`, and the verb it shortens."""

BARE_CONTRACTIONS = {stem + "t": base for stem, base in STEMS.items() if stem not in ("won", "can", "ain")} | {
    "cannot": "can"
}
"""The same written without an apostrophe, where that is not another word."""

NEGATORS = words("not no never none nothing neither nor without cannot") | (
    frozenset(STEMS) - {"can", "ain", "mustn", "needn"}
)
BREAKERS = words("and but however yet although though whereas while because since so")

INABILITY = frozenset({"unable", "unlikely", "improbable", "hardly", "scarcely", "doubt", "doubtful"})
"""Negators that the first grammar did not know."""

CAUSE_WORDS = words(
    "when whenever after once until unless if given which where whose meaning indicating suggesting showing "
    "causing leading resulting implying pointing reporting citing confirming therefore thus hence then"
)
"""Single words that open a cause, a condition or a consequence, and so end the scope of a negator before them."""

CAUSE_PAIRS = frozenset(
    {
        ("due", "to"),
        ("because", "of"),
        ("owing", "to"),
        ("thanks", "to"),
        ("result", "of"),
        ("consequence", "of"),
        ("account", "of"),
        ("view", "of"),
        ("virtue", "of"),
        ("caused", "by"),
        ("triggered", "by"),
        ("blocked", "by"),
        ("prevented", "by"),
        ("explained", "by"),
        ("attributable", "to"),
        ("attributed", "to"),
        ("stems", "from"),
        ("stemming", "from"),
    }
)
"""Two words that open a cause. Directly negated (`not due to`) they deny the cause instead."""

CAUSE_STARTS = words("the its it their there this these those a an all both each every they he she we")
"""What follows an `as` that gives a reason (`not ready as the probe fails`)."""

CLASSIFYING = words(
    "reported classified marked labeled labelled flagged described shown listed treated recorded counted seen "
    "categorized such same well far soon long identified terminated exited known killed logged"
)
"""What precedes an `as` that gives no reason (`not reported as the OOM kill`)."""

ADVERBS = words(
    "actually really likely probably clearly definitely currently itself also therefore thus here directly "
    "primarily apparently obviously certainly simply even in fact at all itself indeed yet still anymore mainly "
    "necessarily themselves evidently immediately"
)
ADDITIVE = words("only just merely simply solely exclusively")
"""After `not` these add to a statement instead of denying it."""

EMPHATIC = words("doubt question wonder surprise surprising surprisingly coincidence")
"""`no doubt it was X` asserts X."""

SHORTAGE = words("enough sufficient adequate spare")
LEFT = words("available left remaining free")
"""After what a negator names, these make it a shortage too (`no node has cpu left`)."""

"""`not enough X` asserts a shortage of X."""

PARTITIVES = words("the its their these those our your all of any both two three four")

COPULAS = words("is are was were look looks seem seems appear appears")
FILLERS = words("still all quite perfectly completely totally to be")
MORE_COPULAS = COPULAS | words("s has have been remain remains stay stays")
MORE_FILLERS = FILLERS | words("now also both currently already entirely absolutely otherwise fully very")
ADJECTIVES = words("fine normal ok okay healthy correct clean green passing succeeding")
WIDE_ADJECTIVES = ADJECTIVES | {"working", "good"}
MORE_ADJECTIVES = ADJECTIVES | words(
    "reachable responsive accessible valid sound intact successful uneventful unremarkable"
)
ALL_CLEAR_PHRASES = (
    ("as", "expected"),
    ("working", "as", "expected"),
    ("working", "as", "intended"),
    ("working", "correctly"),
    ("working", "properly"),
    ("working", "fine"),
    ("working", "normally"),
    ("working", "well"),
    ("functioning", "correctly"),
    ("functioning", "properly"),
    ("functioning", "normally"),
    ("running", "normally"),
    ("running", "fine"),
    ("configured", "correctly"),
    ("configured", "properly"),
    ("correctly", "configured"),
    ("properly", "configured"),
    ("set", "correctly"),
    ("correctly", "set"),
    ("behaving", "normally"),
    ("behaving", "correctly"),
    ("in", "order"),
    ("in", "good", "shape"),
    ("without", "issue"),
    ("without", "issues"),
    ("without", "problems"),
    ("not", "showing", "problems"),
    ("free", "of", "problems"),
    ("free", "of", "issues"),
    ("free", "of", "errors"),
)
ALL_CLEAR_VERBS = (
    ("matches", "the", "pods"),
    ("matches", "the", "pod"),
    ("match", "the", "pods"),
    ("match", "the", "pod"),
    ("works", "fine"),
    ("works", "correctly"),
    ("works", "properly"),
    ("works", "as", "expected"),
    ("work", "as", "expected"),
    ("work", "fine"),
    ("work", "correctly"),
    ("passes",),
    ("succeeds",),
    ("succeeded",),
    ("passed",),
    ("has", "no", "issues"),
    ("has", "no", "problems"),
    ("has", "no", "issue"),
    ("has", "no", "problem"),
    ("have", "no", "issues"),
    ("have", "no", "problems"),
    ("shows", "no", "problems"),
    ("shows", "no", "issues"),
    ("shows", "no", "errors"),
    ("show", "no", "problems"),
    ("reports", "no", "errors"),
)
QUALIFIERS = words(
    "only intermittently sometimes until except occasionally if when once unless before rarely but too enough "
    "again than after"
)
"""After an all-clear word these take the all-clear back (`was healthy until 10:03`)."""

TAIL_NOUNS = words(
    "resolution lookup lookups connectivity access usage limit limits tag reference label labels configuration "
    "config setting settings check checks endpoint endpoints probe probes status state itself themselves process "
    "step spec definition value values field phase object resource policy section"
)
"""Nouns that may stand between a match and its all-clear (`the liveness probe configuration is fine`)."""

CHECKING = words("check verify ensure confirm validate inspect review recheck reverify doublecheck see")
"""Base forms that ask the reader to look: in an imperative they assert nothing."""

BEFORE_IMPERATIVE = words(
    "please then next first second third finally also and or to should must could would might may now just always "
    "let us lets s double re can you we recommend suggest need step simply"
)
CONDITIONALS = words("whether if once until unless when assuming provided should must needs")
"""Before a match in its clause they make what follows a condition, not a finding."""

BLAME = words(
    "cause causes reason reasons issue issues problem problems culprit culprits fault explanation trigger source "
    "factor case responsible involved relevant related blame suspect driver occurring happening happen happened "
    "occur occurred apply applies explain explains observed detected evident indicated mentioned supported "
    "suggested seen recorded logged confirmed concern why what it play applicable implicated contributing "
    "contributor"
)
"""What a negated statement after a match must say to take the blame from it."""

FAULTS = words(
    "exceed exceeds failing failed fail fails failure failures broken wrong missing exceeded exhausted mismatched "
    "incorrect invalid unhealthy stuck full empty misconfigured crashing crashed crash killed problematic faulty "
    "degraded expired bad erroring error errors flapping affected"
)
"""Faulty states: negated after a match they are an all-clear (`the probe is not failing`)."""

RULED_OUT = words(
    "excluded eliminated dismissed discounted discarded unlikely impossible improbable irrelevant unrelated "
    "innocent unsupported implausible absent nonexistent doubtful refuted disproved disproven"
)
DETERMINERS = words("the a an any our your this its their some to be been have seem appear look at")
BLAME_ADJECTIVES = words(
    "root real actual underlying main primary true direct immediate likely current probable ultimate original"
)
AUXILIARIES = words(
    "is are was were be been being do does did has have had can could will would may might must should seem seems "
    "appear appears look looks s"
)
FUNCTION_WORDS = (
    AUXILIARIES
    | BREAKERS
    | CAUSE_WORDS
    | DETERMINERS
    | NEGATORS
    | words("that this these those it they he she i we you as by with from to than or of in on for")
)
PREPOSITIONS = words("of in on for by at from")

FUNCTIONS = words(
    "passed carry carries carrying match matches matching matched pull pulls pulling pulled connect connects "
    "connecting connected reach reaches reaching reached mount mounts mounting mounted satisfy satisfies "
    "satisfied meet meets fit fits resolve resolves resolved read reads load loads loaded access authenticate "
    "authenticates authenticated schedule scheduled bind binds bound provision provisioned fetch fetched fetches "
    "download downloads downloaded select selects selecting selected pass passes passing tolerate tolerates "
    "respond responds responding complete completes open create created locate locates parse talk communicate "
    "dial query allowed permitted authorized admitted ready available healthy reachable accessible ships ship "
    "provides provide serve serves serving answering answers receive receives receiving respected honor honour "
    "use uses using set sets define defines supply"
)
"""Normal working. Negated they report a fault of what follows (`cannot reach the database`), and deny nothing."""

FUNCTION_NOUNS = words("connection connectivity access response reply route permission")
"""The same as nouns: `there is no connection to X` reports a fault, but `it has no connection to X` denies one."""

FINDING = words("find finds found locate locates")
"""Normal working for a program (`the kubelet could not find the Secret`), a finding for a speaker."""

CONTAINING = words("contain contains include includes")
INFORMATION = words("log logs event events output message messages status result results report conditions")
SPEAKERS = words("i we you")
POLARITY_ITEMS = words("any evidence sign signs trace traces indication indications hint hints proof")

DENIAL_PAIRS = frozenset(
    {
        ("rather", "than"),
        ("instead", "of"),
        ("opposed", "to"),
        ("unrelated", "to"),
        ("mistaken", "for"),
        ("rule", "out"),
        ("rules", "out"),
        ("ruled", "out"),
        ("ruling", "out"),
        ("free", "of"),
        ("free", "from"),
        ("absence", "of"),
        ("argues", "against"),
        ("speaks", "against"),
        ("evidence", "against"),
        ("opposite", "of"),
        ("different", "from"),
        ("distinct", "from"),
        ("confused", "with"),
        ("other", "than"),
    }
)
CONFUSIONS = frozenset({("mistaken", "for"), ("confused", "with")})
"""These deny whether they are negated or not (`must not be confused with X`)."""

DENIAL_WORDS = words("unlike exclude excludes excluded excluding eliminates eliminating dismiss dismissed")
"""What denies the thing named after it."""

EXISTENTIAL = words("found exist exists present listed registered defined configured there at in for behind")
"""After `no X` these keep the meaning that there is no X."""

PROBLEM_NOUNS = words(
    "problem problems issue issues error errors failure failures fault faults trouble warning warnings concern concerns"
)
VERBS = AUXILIARIES | words(
    "fails failed crashes crashed shows says reports indicates points means causes caused explains exits restarts "
    "prevents blocks stops leads makes needs keeps"
)
"""What makes a stretch between commas a statement of its own, not an item of a list."""

REPORTED = words("found seen detected observed reported present visible recorded logged noticed identified evident")
"""What closes a list without making it a statement (`no OOM kills, image pull failures or probe errors were found`)."""

QUESTION_STARTS = words("is are was were do does did could can has have had will would should might may")
WOULD_SEE = words("see expect show report say find")
WOULD_SHOW = words("show appear say report leave read produce")

GENERIC = words("normally usually typically often generally sometimes")
SUGGESTING = words("suggests suggest indicates indicate means mean points implies imply signals hints looks look")
CONTRASTS = words("but however though although yet")
EVENTS = words(
    "mismatch mismatched error errors failure failures oom oomkilled killed kill crash crashloop backoff loop "
    "eviction evicted problem problems issue issues typo panic exceeded missing invalid wrong failed failing"
)
"""Keywords with these words name a fault, so its not being there denies it; an object that is not there is a fault."""

LIMITS = words("limit limits quota threshold deadline budget")
REACHED = words("reached hit")
"""Of a limit these are the fault: negated they clear it (`the memory limit was never reached`)."""

OBJECTS = words(
    "secret secrets configmap configmaps map storageclass storageclasses class endpoint endpoints endpointslice "
    "endpointslices service services pvc persistentvolumeclaim claim volume volumes tag image manifest pod pods "
    "node nodes permission permissions credentials certificate variable var namespace serviceaccount account "
    "replica replicas provisioner binary executable file"
)
"""Things whose absence is a fault: `there is no Secret` blames the Secret."""

NAMING = words("named called with exists exist in for behind that available at or and to matching")
"""What goes on about a thing that is not there."""

ABSENT = words("present found visible there shown apparent")
MANNER = words("fine correctly properly normally successfully")
"""After a verb these say that all is well (`the image pulls fine`, `was pulled successfully`)."""

CHECKING_NOW = words("verifying checking confirming ensuring validating reviewing")
BEFORE_CHECKING = words("worth recommend consider suggest suggests try recommends")

VERDICT_NO = frozenset({("no",), ("none",), ("false",), ("ruled", "out"), ("nope",), ("negative",), ("n", "a")})
LABEL_NOUNS = words("causes cause reasons issues problems suspects culprits suspected candidates")
LABEL_TRIGGERS = RULED_OUT | words("not ruled rule out red off considered non false")
"""One of these is in every heading of denial."""

LABEL_WORDS = (
    RULED_OUT
    | BLAME
    | LABEL_NOUNS
    | DETERMINERS
    | BLAME_ADJECTIVES
    | AUXILIARIES
    | words(
        "not no ruled rule rules out red herring herrings non false leads following these those possible other others "
        "hypotheses hypothesis options option candidate suspected considered checked and or but also what it things "
        "alternatives alternative explanations already that which we i you so far"
    )
)
"""What a heading of denial consists of when it names nothing itself."""

SUBJECTS = words("it they he she we i you there nothing everything")
ARTICLES = words("the a an its their no")
FINITE = words(
    "fails says shows indicates explains makes keeps prevents refuses rejects returns opens closes gets finds sends "
    "tries goes sees loses denies responds dies lacks wants expects throws hangs becomes begins gives takes"
)
"""Verbs in a form that makes a statement of the words around them, and that is no noun as well (`kills`, `exits`)."""

PAST = words(
    "failed crashed died refused rejected returned exited expired closed stopped denied hung panicked restarted"
)
"""Verbs that make a statement at the end of a clause (`the pull failed`) and not before a noun (`the failed pull`)."""
