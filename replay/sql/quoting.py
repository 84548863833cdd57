"""Values of ours inside the text of a statement, where it takes no parameters."""


def quoted(value: object) -> str:
    """The text of a value as a string in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
