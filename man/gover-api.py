#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# gover-api.py OPENAPI PAGE: prints the manual page PAGE with the routes and schemas of an OpenAPI document in place of its
# line ".\" @OPENAPI@".
import itertools
import json
import re
import sys
import textwrap

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
parts = document["components"]


def resolve(value):
    if "$ref" not in value:
        return value
    _, _, kind, name = value["$ref"].split("/")
    return {**parts[kind][name], **value}


def sentences(words):
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z'])", words.replace("\\", "\\e")):
        for line in textwrap.wrap(sentence, 88, break_on_hyphens=False):
            yield "\\&" + line if line[0] in ".'" else line


def limits(schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"{low} to {high}"
    elif low is not None:
        yield f"at least {low}"
    if "maxLength" in schema:
        yield f"at most {schema['maxLength']} characters"
    if "default" in schema:
        yield f"default: {json.dumps(schema['default'])}"


def kind(schema):
    """The type in words. A schema with a name is a reference to its section."""
    if "$ref" in schema:
        return f".Sx {schema['$ref'].split('/')[-1]}"
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        return " or ".join(kind(choice) for choice in choices)
    types = schema.get("type", "any value")
    types = types if isinstance(types, list) else [types]
    if types[0] == "array":
        return "list of " + re.sub(r"^(object|string)$", r"\1s", kind(schema["items"]))
    if "enum" in schema:
        return "one of " + ", ".join("null" if word is None else str(word) for word in schema["enum"])
    return ", ".join([" or ".join(types), *limits(schema)])


def type_lines(schema):
    """".Sx" begins a line."""
    words = re.sub(r" ?\.Sx (\w+) ?", r"\n.Sx \1\n", kind(schema)).strip("\n").split("\n")
    if words[0][0] != ".":
        words[0] = words[0][0].upper() + words[0][1:]
    words[-1] += " ." if words[-1].startswith(".") else "."
    for line in words:
        yield from [line] if line.startswith(".") else textwrap.wrap(line, 88, break_on_hyphens=False)


def items(members):
    yield ".Bl -tag -width Ds"
    described = ((name, list(type_lines(value)), value) for name, value in members)
    for (lines, words), group in itertools.groupby(described, lambda m: (m[1], m[2].get("description", ""))):
        group = list(group)
        names = [name for name, _, _ in group]
        for i in range(0, len(names), 4):
            macro = "Va" if names[0].islower() else "Li"
            yield f".It {macro} " + " , ".join(names[i : i + 4])
        yield from lines
        yield from sentences(words)
        inner = group[0][2].get("items", group[0][2]).get("properties")
        if inner:
            yield from items(inner.items())
    yield ".El"


def answers(operation):
    for status, answer in operation["responses"].items():
        answer = resolve(answer)
        if not status.startswith("2"):
            continue
        schemas = [body["schema"] for body in answer.get("content", {}).values() if "$ref" in body.get("schema", {})]
        yield f"Answers {status}" + (" with" if schemas else ".")
        if schemas:
            yield f"{kind(schemas[0])} ."


def route(method, path, operation):
    yield f".It Cm {method.upper()} {path}"
    yield from sentences(operation["summary"] + ".")
    yield from sentences(operation.get("description", ""))
    if "requestBody" in operation:
        yield "Accepts"
        yield f"{kind(operation['requestBody']['content']['application/json']['schema'])} ."
    yield from answers(operation)
    yield f"Scope: {operation['x-gover-scope']}."
    parameters = [resolve(parameter) for parameter in operation.get("parameters", [])]
    described = [
        (parameter["name"], {**parameter["schema"], "description": parameter["description"]})
        for parameter in parameters
        if parameter["in"] != "path"
    ]
    if described:
        yield from items(described)


def routes():
    yield ".Sh ROUTES"
    for tag in document["tags"]:
        yield f".Ss {tag['x-displayName']}"
        yield from sentences(tag["description"])
        yield ".Bl -tag -width Ds"
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if operation["tags"][0] == tag["name"]:
                    yield from route(method, path, operation)
        yield ".El"


def objects():
    yield ".Sh OBJECTS"
    for name, schema in parts["schemas"].items():
        yield f".Ss {name}"
        if "properties" not in schema:
            yield from type_lines(schema)
        yield from sentences(schema.get("description", ""))
        required = schema.get("required", [])
        optional = [key for key in schema.get("properties", {}) if key not in required]
        if required and optional:
            yield from sentences(f"Required: {', '.join(required)}.")
        if "properties" in schema:
            yield from items(schema["properties"].items())


with open(sys.argv[2], encoding="utf-8") as file:
    generated = "".join(f"{line}\n" for line in [*routes(), *objects()])
    print(file.read().replace('.\\" @OPENAPI@\n', generated), end="")
