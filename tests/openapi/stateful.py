# SPDX-License-Identifier: MIT
"""stateful.py PLACE SEED STEPS: sends random requests that follow from the description alone, as schemathesis does. Values are
generated from the schemas, valid and invalid, and the links of each answer lead to the next requests. The description must
hold for each answer: its status, headers, type, schema and links (described.py). A request outside its schema changes
nothing, a created object can be read, and a removed one is gone."""
import json
import random
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
from described import JSON_TYPE, Described  # noqa: E402

LENGTH_MAX = 12  # of generated texts and lists, unless the schema requires more
ENDLESS = "followEvents"
FOLLOWED = 64  # links that wait to be followed
LEARNED = 32  # values of one member that are used again
# A request inside its schema may still be refused for the state of the host or for a rule that no schema can express. A
# range of time and a cursor depend on other values.
REFUSED = (404, 409, 410, 412, 422, 429, 503)
RELATED = {"from", "to", "step", "after"}


class Values:
    """Generates values from schemas."""

    def __init__(self, api, random):
        self.api, self.random = api, random
        self.learned = {}  # values of members in earlier answers, by name

    def learn(self, value, name=None):
        if isinstance(value, dict):
            for key, member in value.items():
                self.learn(member, key)
        elif isinstance(value, list):
            for member in value[:8]:
                self.learn(member, name)
        elif isinstance(value, str):
            known = self.learned.setdefault(name, [])
            known.append(value)
            del known[:-LEARNED]

    def member(self, name, schema):
        """Returns a value of a member: one of an earlier answer, or a new one."""
        known = self.learned.get(name)
        if known and self.random.random() < 0.7:
            value = self.random.choice(known)
            if self.api.fits(schema, value):
                return value
        return self.valid(schema)

    def text(self, schema):
        pattern = schema.get("pattern", "")
        if schema.get("format") == "date-time":
            at = time.gmtime(time.time() + self.random.uniform(-1e7, 1e7))
            return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", at)
        letters = "0123456789" if pattern.startswith("^[0-9]") else "abcxyz019_" if pattern else "abc xyz01\u00e9\u4e16\"\\/%&=?#.:-"
        length = self.random.randint(max(schema.get("minLength", 0), 1 if pattern else 0), max(schema.get("minLength", 0), LENGTH_MAX))
        return "".join(self.random.choice(letters) for _ in range(min(length, schema.get("maxLength", length))))

    def number(self, schema, whole):
        low, high = schema.get("minimum", 0), schema.get("maximum", 1e6)
        value = self.random.choice((low, high, self.random.uniform(low, high), self.random.uniform(low, min(high, low + 10))))
        return int(value) if whole else round(value, 3)

    def valid(self, schema):
        schema = self.api.resolve(schema)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                part = self.api.resolve(self.random.choice(schema[word]))
                return self.valid({**{k: v for k, v in schema.items() if k != word}, **part})
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type", "string")
        kind = self.random.choice(kind) if isinstance(kind, list) else kind
        if kind == "object":
            return self.members(schema)
        if kind == "array":
            n = self.random.randint(schema.get("minItems", 0), min(schema.get("maxItems", 3), 3))
            return [self.valid(schema.get("items", {})) for _ in range(n)]
        return {"string": lambda: self.text(schema), "integer": lambda: self.number(schema, True),
                "number": lambda: self.number(schema, False), "boolean": lambda: self.random.random() < 0.5,
                "null": lambda: None}[kind]()

    def members(self, schema):
        required = schema.get("required", ())
        optional = self.random.choice((0, 0.1, 0.5))
        result = {name: self.member(name, member) for name, member in schema.get("properties", {}).items()
                  if name in required or self.random.random() < optional}
        if isinstance(schema.get("additionalProperties"), dict):
            result.update({self.text({"pattern": "."}): self.valid(schema["additionalProperties"])
                           for _ in range(self.random.randint(0, 2))})
        return result

    def invalid(self, schema):
        """Returns a value that the schema forbids; None: none was found."""
        junk = (None, True, -1, 1e300, 0.5, "", "\0", "x" * 300, [], [1], {}, {"no_such": 1}, "no such")
        for _ in range(30):
            value = self.valid(schema)
            if isinstance(value, dict) and value and self.random.random() < 0.8:
                value = {**value, self.random.choice(list(value)): self.random.choice(junk)}
            else:
                value = self.random.choice(junk)
            if value is not None and not self.api.fits(schema, value):
                return value
        return None


class Driver:
    def __init__(self, api, seed):
        self.api, self.random = api, random.Random(seed)
        self.values = Values(api, self.random)
        self.links = []  # (operation, {parameter: value}) that earlier answers lead to
        self.requests, self.accepted, self.followed = 0, set(), set()
        self.operations = [each for each in api.operations() if each[2]["operationId"] != ENDLESS]

    def fill(self, method, path, operation, known):
        """Returns the path with its query, the headers, and whether all generated parameters are inside their schemas."""
        query, headers, valid = [], {}, True
        for parameter in map(self.api.resolve, operation.get("parameters", [])):
            name = parameter["name"]
            if name not in known and not parameter.get("required") and self.random.random() < 0.6:
                continue
            value = known.get(name)
            if value is None:
                value = self.values.member(name, parameter["schema"])
                if parameter["in"] == "query" and self.random.random() < 0.1:
                    wrong = self.values.invalid(parameter["schema"])
                    if isinstance(wrong, (str, int, float)) and not isinstance(wrong, bool):
                        # A number arrives as its text, which the schema of a text can allow.
                        valid &= self.api.fits(parameter["schema"], str(wrong))
                        value = wrong
            text = json.dumps(value) if isinstance(value, bool) else ",".join(value) if isinstance(value, list) else str(value)
            if parameter["in"] == "path":
                path = path.replace("{" + name + "}", urllib.parse.quote(text, safe=""))
            elif parameter["in"] == "query":
                query.append((name, text))
            elif name in known or name == "Idempotency-Key":
                headers[name] = text
        return path + ("?" + urllib.parse.urlencode(query) if query else ""), headers, valid

    def body(self, operation):
        """Returns a body, as an object or as bytes, and whether it is inside the schema."""
        described = self.api.resolve(operation.get("requestBody", {})).get("content", {}).get(JSON_TYPE)
        if described is None:
            return None, True
        if self.random.random() < 0.25:
            wrong = self.values.invalid(described["schema"])
            if wrong is not None:
                return json.dumps(wrong).encode(), False
        for _ in range(10):
            value = self.values.valid(described["schema"])
            if self.api.fits(described["schema"], value):
                break
        return value, True

    def step(self):
        known, links = {}, self.links
        if links and self.random.random() < 0.6:
            (method, path, operation), known = links.pop(self.random.randrange(len(links)))
        else:
            method, path, operation = self.random.choice(self.operations)
        target, headers, valid = self.fill(method, path, operation, known)
        body, fits = self.body(operation)
        if isinstance(body, bytes):
            headers["Content-Type"] = JSON_TYPE
        answer = self.send(method, target, body, headers, operation, valid and fits)
        if 200 <= answer.status < 300:
            self.accepted.add(operation["operationId"])
            if known:
                self.followed.add(operation["operationId"])
            self.learn(operation, answer)
        if answer.status == 204 and method == "DELETE" and path.startswith("/v1/vgpus/"):
            self.api.ask("GET", target, status=404)

    def send(self, method, target, body, headers, operation, inside):
        self.requests += 1
        answer = self.api.ask(method, target, body, headers)
        what = f"{method} {target} {'' if body is None else str(body)[:200]}: {answer.status} {answer.bytes[:200]}"
        if answer.status >= 500 and answer.status not in (503, 507):
            self.api.complain(f"{what}: the daemon failed")
        if not inside and answer.status < 400:
            self.api.complain(f"{what}: accepted outside its schema")
        related = answer.status == 400 and RELATED & set(urllib.parse.parse_qs(target.partition("?")[2]))
        if inside and answer.status >= 400 and answer.status not in REFUSED and not related:
            self.api.complain(f"{what}: refused inside its schema")
        if answer.status == 201 and answer.headers.get("Location", "").startswith("/v1/vgpus/"):
            self.api.ask("GET", answer.headers["Location"], status=200)
        return answer

    def learn(self, operation, answer):
        said = self.api.resolve(operation["responses"][str(answer.status)])
        if answer.type == JSON_TYPE:
            self.values.learn(answer.json())
        for _, target, values in self.api.linked(answer, said):
            self.links.append((target, {name: value for name, (_, value) in values.items()}))
        del self.links[:-FOLLOWED]


def main():
    place, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    api = Described(place)
    driver = Driver(api, seed)
    while driver.requests < steps and len(api.complaints) < 20:
        driver.step()
    every = {operation["operationId"] for _, _, operation in driver.operations}
    print(f"seed {seed}: {driver.requests} requests, {len(driver.accepted)} of {len(every)} operations accepted, "
          f"{len(driver.followed)} of them by a link; never accepted: {', '.join(sorted(every - driver.accepted)) or 'none'}")
    if len(driver.followed) < 8:
        api.complain(f"only these operations were reached by a link: {sorted(driver.followed)}")
    api.tell()


if __name__ == "__main__":
    main()
