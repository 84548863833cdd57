"""Plain data as YAML that always reads back as the same data.

Block style, keys in the given order, no line folding (a message stays on one line, so that it can be found), no
anchors, literal blocks for text of several lines. The pure Python emitter is used on purpose: the bytes must not depend
on whether libyaml is installed.
"""

from typing import Any

import yaml

_WIDTH = 1_000_000


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    lines = value.split("\n")
    literal = len(lines) > 1 and all(line == line.rstrip() for line in lines) and not value[0].isspace()
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if literal else None)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """`value` (mappings, lists, scalars of JSON) as YAML text."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False)
