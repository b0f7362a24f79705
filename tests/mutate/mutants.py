# SPDX-License-Identifier: MIT
# Generates the mutants of a C file: copies with one small change each, as a programmer could make by mistake. The
# syntax tree of libclang gives the places, so that comments, strings, includes and the arguments of macros stay as they
# are.
import bisect
import re

from clang.cindex import CursorKind, Index, TranslationUnit, TypeKind

# The first replacement moves the boundary or swaps the operation, the second one inverts the condition.
OPERATORS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("&",),
    "&&": ("||",),
    "||": ("&&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("/=",),
    "/=": ("*=",),
    "|=": ("&=",),
    "&=": ("|=",),
}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
FRACTION = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+\.)([fFlL]?)")
OPERATIONS = (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)
LITERALS = (CursorKind.INTEGER_LITERAL, CursorKind.FLOATING_LITERAL)
STATEMENTS = (
    CursorKind.CALL_EXPR,
    CursorKind.BINARY_OPERATOR,
    CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
    CursorKind.UNARY_OPERATOR,
    CursorKind.CSTYLE_CAST_EXPR,
    CursorKind.BREAK_STMT,
    CursorKind.CONTINUE_STMT,
)
# A statement is deleted if it is a part of one of these, and not a condition.
BODIES = (CursorKind.COMPOUND_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT)
LOOPS_AND_BRANCHES = (CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)


class Mutant:
    """One change of one file: the bytes from start to end become text."""

    def __init__(self, source, path, function, line, start, end, text, before, after):
        self.source = source
        self.path = path
        self.function = function  # "-" outside of functions
        self.line = line
        self.start = start
        self.end = end
        self.text = text
        self.before = before  # the changed expression or statement, in one line
        self.after = after
        self.number = 1  # position among the changes of this function that read the same

    def name(self):
        """The name in tests/mutate/equivalent.txt. It does not depend on other lines of the file."""
        number = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path} {self.function}: {self.before} => {self.after}{number}"

    def changed(self):
        """The source with the change."""
        return self.source[: self.start] + self.text.encode() + self.source[self.end :]


def other_integers(literal):
    match = NUMBER.fullmatch(literal)
    if not match:
        return ()
    value = int(match[1], 0)
    return tuple(f"{v}{match[2]}" if v >= 0 else f"({v})" for v in (value + 1, value - 1))


def other_fractions(literal):
    """Whole numbers change by 1, fractions by half. A tolerance for rounding errors becomes 0 or 1,000 times larger."""
    match = FRACTION.fullmatch(literal)
    if not match:
        return ()
    value = float(match[1])
    if value == int(value):
        values = (value + 1, value - 1)
    elif value < 0.001:
        values = (0.0, value * 1000)
    else:
        values = (value * 1.5, value * 0.5)
    return tuple(f"{v!r}{match[2]}" if v >= 0 else f"({v!r}{match[2]})" for v in values)


class Generator:
    def __init__(self, path, flags):
        with open(path, "rb") as file:
            self.source = file.read()
        self.path = path
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.unit = Index.create().parse(path, args=flags, options=options)
        errors = [d for d in self.unit.diagnostics if d.severity >= 3]
        if errors:
            raise RuntimeError(f"{path}: libclang cannot parse it: {errors[0]}")
        self.function = "-"
        self.result_kind = None
        self.mutants = {}
        self.lines = [0] + [m.end() for m in re.finditer(b"\n", self.source)]
        # Ranges of the macros in use. An expression inside one has the range of the macro.
        top = [c for c in self.unit.cursor.get_children() if self.is_here(c)]
        self.macros = sorted(span(c) for c in top if c.kind == CursorKind.MACRO_INSTANTIATION)
        self.declarations = top

    def is_here(self, cursor):
        file = cursor.location.file
        return file is not None and file.name == self.path

    def is_in_macro(self, start, end):
        """True if a macro in use contains any byte of the range."""
        at = bisect.bisect_left(self.macros, (end, 0)) - 1
        return at >= 0 and any(s < end and e > start for s, e in self.macros[max(0, at - 3) : at + 1])

    def read(self, start, end):
        return self.source[start:end].decode()

    def text_of(self, cursor):
        return self.read(*span(cursor))

    def add(self, start, end, text, whole):
        """Adds a mutant, with the range @whole as its description."""
        if (start, end, text) in self.mutants:
            return
        before = one_line(self.read(*whole))
        after = one_line(self.read(whole[0], start) + text + self.read(end, whole[1]))
        if (start, end) == whole and text in ("", ";"):
            after = "(deleted)"
        line = bisect.bisect_right(self.lines, start)
        mutant = Mutant(self.source, self.path, self.function, line, start, end, text, before, after)
        self.mutants[start, end, text] = mutant

    # --- kinds of change ---

    def operator_of(self, cursor):
        """The operator of a binary expression, or an empty string."""
        children = list(cursor.get_children())
        if cursor.kind not in OPERATIONS or len(children) != 2:
            return ""
        return self.read(children[0].extent.end.offset, children[1].extent.start.offset).strip()

    def change_operator(self, cursor):
        operator = self.operator_of(cursor)
        if operator in ("+", "-") and cursor.type.get_canonical().kind == TypeKind.POINTER:
            return
        if operator not in OPERATORS:
            return
        left = next(cursor.get_children())
        start = self.source.index(operator.encode(), left.extent.end.offset)
        if self.is_in_macro(start, start + 1):
            return
        for other in OPERATORS[operator]:
            self.add(start, start + len(operator), other, span(cursor))

    def change_unary(self, cursor):
        start, end = whole = span(cursor)
        text = self.read(start, end)
        if text.startswith("!") or (text.startswith("-") and not text.startswith("--")):
            operand = next(cursor.get_children())
            if text[0] == "!" or operand.kind not in LITERALS:
                self.add(start, start + 1, "", whole)
        for old, new in (("++", "--"), ("--", "++")):
            if text.startswith(old):
                self.add(start, start + 2, new, whole)
            elif text.endswith(old):
                self.add(end - 2, end, new, whole)

    def change_literal(self, cursor, parents):
        start, end = span(cursor)
        text = self.read(start, end)
        others = other_integers(text) if cursor.kind == CursorKind.INTEGER_LITERAL else other_fractions(text)
        for other in others[self.skipped_values(cursor, parents)]:
            self.add(start, end, other, self.whole_of(cursor, parents))

    def skipped_values(self, cursor, parents):
        """The slice of the other values to try. For integers, x < 5 and x <= 4 are the same mutant. A comparison with 0
        asks for the sign, and -1 means none or an error: no other value is a likely mistake, except 0 for -1."""
        parents = [p for p in parents if p.kind != CursorKind.UNEXPOSED_EXPR]
        if parents and parents[-1].kind == CursorKind.UNARY_OPERATOR and self.text_of(parents[-1]) == "-1":
            return slice(1, 2)
        operator = self.operator_of(parents[-1]) if parents else ""
        if operator not in ("<", "<=", ">", ">="):
            return slice(None)
        if self.text_of(cursor) == "0":
            return slice(0)
        if any(c.type.get_canonical().kind == TypeKind.DOUBLE for c in parents[-1].get_children()):
            return slice(None)
        if cursor != list(parents[-1].get_children())[1]:
            return slice(None)
        return slice(1, 2) if operator in ("<", ">=") else slice(0, 1)

    def negate_condition(self, cursor):
        children = list(cursor.get_children())
        condition = children[-1] if cursor.kind == CursorKind.DO_STMT else children[0]
        start, end = span(condition)
        text = self.read(start, end)
        # Other changes have the same effect as the negation of a comparison. assert() contains a condition.
        if self.is_comparison(condition) or text.startswith("!") or self.is_in_macro(start, start + 1):
            return
        whole = (start, end)
        if cursor.kind != CursorKind.CONDITIONAL_OPERATOR:
            whole = (span(cursor)[0], self.source.index(b")", end) + 1)
        self.add(start, end, f"!({text})", whole)

    def is_comparison(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind == CursorKind.UNEXPOSED_EXPR and len(children) == 1:
            return self.is_comparison(children[0])
        return self.operator_of(cursor) in COMPARISONS

    def delete(self, cursor):
        text = self.text_of(cursor)
        if cursor.kind == CursorKind.CSTYLE_CAST_EXPR and "(" not in text.replace("(void)", "", 1):
            return  # marks a parameter as unused
        self.add_deletion(cursor)

    def add_deletion(self, cursor):
        start, end = span(cursor)
        if not self.is_in_macro(start, start + 1):
            self.add(start, end, "", (start, end))

    def delete_guard(self, cursor):
        """Deletes an if statement that only returns a value."""
        children = list(cursor.get_children())
        if len(children) == 2 and children[1].kind == CursorKind.RETURN_STMT and list(children[1].get_children()):
            start = cursor.extent.start.offset
            end = self.source.index(b";", children[1].extent.end.offset - 1) + 1
            self.add(start, end, ";", (start, end))

    def change_result(self, cursor):
        children = list(cursor.get_children())
        if not children:
            self.add_deletion(cursor)
            return
        start, end = span(children[0])
        text = self.read(start, end)
        if NUMBER.fullmatch(text) or FRACTION.fullmatch(text) or text in ("true", "false", "NULL"):
            return
        whole = span(cursor)
        if self.result_kind == TypeKind.BOOL:
            if not self.is_comparison(children[0]) and not text.startswith("!"):
                self.add(start, end, f"!({text})", whole)
        elif self.result_kind == TypeKind.POINTER:
            self.add(start, end, "NULL", whole)
        elif self.result_kind != TypeKind.RECORD:
            self.add(start, end, "0", whole)

    # --- the walk ---

    def whole_of(self, cursor, parents):
        """The smallest expression, declaration or statement around @cursor that says more than @cursor."""
        own = span(cursor)
        for parent in reversed(parents):
            start, end = span(parent)
            if parent.kind in LOOPS_AND_BRANCHES or parent.kind in BODIES or end - start > 160:
                break
            if end - start > own[1] - own[0] + 2:
                return start, end
        start, end = self.lines[bisect.bisect_right(self.lines, own[0]) - 1], self.source.find(b"\n", own[1])
        return start, end

    def visit(self, cursor, parents):
        start, end = span(cursor)
        kind = cursor.kind
        children = list(cursor.get_children())
        if kind in OPERATIONS:
            self.change_operator(cursor)
        elif kind == CursorKind.UNARY_OPERATOR and not self.is_in_macro(start, start + 1):
            self.change_unary(cursor)
        elif kind in LITERALS and not self.is_in_macro(start, end):
            self.change_literal(cursor, parents)
        elif kind == CursorKind.RETURN_STMT:
            self.change_result(cursor)
        elif kind == CursorKind.CASE_STMT:
            children = children[1:]
        if kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.CONDITIONAL_OPERATOR):
            self.negate_condition(cursor)
        if kind == CursorKind.IF_STMT:
            self.delete_guard(cursor)
        if kind in STATEMENTS and self.is_statement(cursor, parents):
            self.delete(cursor)
        self.visit_all(children, parents + [cursor])

    def visit_all(self, cursors, parents):
        for cursor in cursors:
            self.visit(cursor, parents)

    def is_statement(self, cursor, parents):
        if not parents:
            return False
        parent = parents[-1]
        if parent.kind in BODIES:
            return True
        if parent.kind not in LOOPS_AND_BRANCHES:
            return False
        children = list(parent.get_children())
        if parent.kind == CursorKind.IF_STMT:
            return cursor in children[1:]
        return cursor == (children[0] if parent.kind == CursorKind.DO_STMT else children[-1])

    def change_definition(self, cursor):
        """Changes the number in #define NAME NUMBER."""
        tokens = list(cursor.get_tokens())
        if len(tokens) != 2:
            return
        start, end = span(tokens[1])
        whole = span(cursor)
        text = tokens[1].spelling
        for other in other_integers(text) or other_fractions(text):
            self.add(start, end, other, whole)

    def change_truth(self, cursor):
        """Swaps true and false, which are macros."""
        other = {"true": "false", "false": "true"}.get(cursor.spelling)
        if not other:
            return
        start, end = span(cursor)
        line = bisect.bisect_right(self.lines, start) - 1
        self.function = self.function_at(start)
        self.add(start, end, other, (self.lines[line], self.source.find(b"\n", start)))

    def function_at(self, offset):
        for cursor in self.declarations:
            start, end = span(cursor)
            if cursor.kind == CursorKind.FUNCTION_DECL and start <= offset < end:
                return cursor.spelling
        return "-"

    def generate(self):
        for cursor in self.declarations:
            self.function = "-"
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition():
                self.function = cursor.spelling
                self.result_kind = cursor.result_type.get_canonical().kind
                self.visit_all([c for c in cursor.get_children() if c.kind == CursorKind.COMPOUND_STMT], [])
            elif cursor.kind == CursorKind.VAR_DECL:
                self.visit_all(cursor.get_children(), [cursor])
            elif cursor.kind == CursorKind.MACRO_DEFINITION:
                self.change_definition(cursor)
            elif cursor.kind == CursorKind.MACRO_INSTANTIATION:
                self.change_truth(cursor)
        return number_equal_names(sorted(self.mutants.values(), key=lambda m: (m.start, m.end, m.text)))


def span(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def one_line(text):
    return " ".join(text.replace("\\\n", " ").split())


def number_equal_names(mutants):
    seen = {}
    for mutant in mutants:
        key = (mutant.function, mutant.before, mutant.after)
        mutant.number = seen[key] = seen.get(key, 0) + 1
    return mutants


def mutants_of(path, flags):
    """Returns the mutants of the file, in the order of the file."""
    return Generator(path, flags).generate()
