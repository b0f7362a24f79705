# SPDX-License-Identifier: MIT
# Sends requests to a daemon on a unix socket or a port and validates every accepted request and every answer against the
# /openapi.json that the daemon serves.
import copy
import gzip
import http.client
import json
import re
import socket
import sys

import jsonschema

JSON_TYPE = "application/json"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("gover", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connect(place):
    """Returns a connection to @place, which is the path of a socket or HOST:PORT."""
    if "/" in place:
        return UnixConnection(place)
    return http.client.HTTPConnection(place, timeout=60)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.type = (response.headers.get("Content-Type") or "").split(";")[0]
        # An event stream has no end: read its first line.
        self.bytes = response.readline() if self.type == "text/event-stream" else response.read()
        if self.headers.get("Content-Encoding") == "gzip" and self.bytes:  # not after HEAD
            self.bytes = gzip.decompress(self.bytes)

    def json(self):
        return json.loads(self.bytes)


def exchange(place, method, path, body=None, headers=None):
    connection = connect(place)
    try:
        try:
            connection.request(method, path, body, {"Accept-Encoding": "gzip", **(headers or {})})
        except BrokenPipeError:
            pass  # the daemon answered before it had read a large body
        return Answer(connection.getresponse())
    finally:
        connection.close()


def strict(schema):
    """Forbids additional members: the description allows them for clients, but a test must notice them."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)
    return schema


class Described:
    """A daemon and its description. Collects differences in .complaints and answers that occurred in .seen."""

    def __init__(self, place, file=None):
        self.place = place
        if file:
            with open(file) as text:
                self.document = json.load(text)
        else:
            self.document = exchange(place, "GET", "/openapi.json").json()
        self.resolver = jsonschema.RefResolver("", strict(copy.deepcopy(self.document)))
        self.complaints = []
        self.seen = set()

    def complain(self, text):
        self.complaints.append(text)

    def resolve(self, thing):
        while "$ref" in thing:
            thing = self.resolver.resolve(thing["$ref"])[1]
        return thing

    def operations(self):
        """Yields (METHOD, path, operation) of all described operations."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method.upper(), path, operation

    def find(self, method, path):
        plain = path.split("?")[0]
        method = "GET" if method == "HEAD" else method
        for m, pattern, operation in self.operations():
            if m == method and re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]+", pattern), plain):
                return f"{m} {pattern}", operation
        return None, None

    def faults(self, schema, value):
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]

    def fits(self, schema, value):
        return not self.faults(schema, value)

    def ask(self, method, path, body=None, headers=None, status=None):
        """Returns the answer. @body is an object, or bytes with the content type in the headers. @status is the expected status or a set."""
        headers = dict(headers or {})
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            headers.setdefault("Content-Type", JSON_TYPE)
        answer = exchange(self.place, method, path, data, headers)
        what = f"{method} {path} {'' if body is None else str(body)[:80]}: {answer.status}"
        wanted = (status,) if isinstance(status, int) else status
        if wanted and answer.status not in wanted:
            self.complain(f"{what} instead of {status}: {answer.bytes[:300]}")
        name, operation = self.find(method, path)
        if operation is None:
            self.check_problem(what, answer)
            return answer
        self.check_answer(what, method, operation, answer)
        if 200 <= answer.status < 300 and body is not None:
            self.check_request(what, operation, body)
        self.seen.add(f"{name} {answer.status}")
        return answer

    def check_problem(self, what, answer):
        if answer.type != "application/problem+json":
            self.complain(f"{what}: a problem of type {answer.type}")
            return
        for fault in self.faults({"$ref": "#/components/schemas/Problem"}, answer.json()):
            self.complain(f"{what}: {fault}")
        if answer.json().get("status") != answer.status:
            self.complain(f"{what}: contains status {answer.json().get('status')}")

    def check_answer(self, what, method, operation, answer):
        said = operation["responses"].get(str(answer.status))
        if said is None:
            self.complain(f"{what}: status not described: {answer.bytes[:200]}")
            return
        said = self.resolve(said)
        for name, header in said.get("headers", {}).items():
            value, header = answer.headers.get(name), self.resolve(header)
            if value is None and header.get("required"):
                self.complain(f"{what}: missing header {name}")
            elif value is not None and not self.fits(header["schema"], value):
                self.complain(f"{what}: {name}: {value}")
        if method != "HEAD":
            self.check_links(what, said, answer)
        content = said.get("content", {})
        if method == "HEAD" or not content:
            if answer.bytes:
                self.complain(f"{what}: body not described")
            return
        if answer.type not in content:
            self.complain(f"{what}: wrong type {answer.type}")
            return
        if answer.status >= 400:
            self.check_problem(what, answer)
        is_json = answer.type.endswith("json")
        value = answer.json() if is_json else answer.bytes.decode()
        for fault in self.faults(content[answer.type]["schema"], value):
            self.complain(f"{what}: {fault}")

    def link_value(self, expression, answer):
        """Returns the value of a link's parameter; None: the answer has no such member, for example in an empty list."""
        place, _, name = expression.removeprefix("$response.").partition(".")
        if place == "header":
            return answer.headers.get(name)
        value = answer.json()
        for key in expression.partition("#/")[2].split("/"):
            if isinstance(value, list):
                value = value[int(key)] if int(key) < len(value) else None
            elif value is not None:
                value = value[key]
        return value

    def linked(self, answer, said):
        """Yields (name, operation, {(place, parameter): value}) of each link of an answer whose parameters have values."""
        operations = {operation["operationId"]: (method, path, operation) for method, path, operation in self.operations()}
        for name, link in said.get("links", {}).items():
            link = self.resolve(link)
            method, path, operation = operations[link["operationId"]]
            places = {parameter["name"]: parameter for parameter in map(self.resolve, operation.get("parameters", []))}
            values = {}
            for parameter, expression in link["parameters"].items():
                parameter = places[parameter.removeprefix("header.")]
                values[parameter["name"]] = (parameter, self.link_value(expression, answer))
            if all(value is not None for _, value in values.values()):
                yield name, (method, path, operation), values

    def check_links(self, what, said, answer):
        for name, _, values in self.linked(answer, said):
            for parameter, value in values.values():
                for fault in self.faults(parameter["schema"], value):
                    self.complain(f"{what}: link {name}: {parameter['name']}: {fault}")

    def check_request(self, what, operation, body):
        schema = self.resolve(operation.get("requestBody", {})).get("content", {}).get(JSON_TYPE, {}).get("schema")
        if schema is None:
            self.complain(f"{what}: accepted a body that is not described")
            return
        for fault in self.faults(schema, body):
            self.complain(f"{what}: was accepted, but {fault}")

    def unseen(self, seen):
        """Yields described answers that never occurred. Ignores `default`, because no test can cause those errors."""
        for method, path, operation in self.operations():
            for status in operation["responses"]:
                if status in ("401", "403", "429") and "/v1/tokens" not in self.document["paths"]:
                    continue
                if status != "default" and f"{method} {path} {status}" not in seen:
                    yield f"{method} {path} {status}"

    def tell(self):
        for complaint in self.complaints:
            print(complaint)
        sys.exit(1 if self.complaints else 0)
