# SPDX-License-Identifier: MIT
# What clients know from the answers of the daemon. The ledger maps each object that clients can change to the values that
# are possible: one value after an answer with 2xx or a rejection, several while the outcome of a request is unknown.
DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"


def outcome(status):
    """The meaning of an HTTP status (None: no answer). 507 means that nothing has changed."""
    if status is None or status == 500:
        return UNKNOWN
    return DONE if 200 <= status < 300 else REFUSED


def distinct(values):
    result = []
    for value in values:
        if value not in result:
            result.append(value)
    return result


class Ledger:
    def __init__(self):
        self.possible = {}  # (kind, name): list of values; None: the object does not exist
        self.forgiven = set()  # kinds of objects that the current fault may lose

    def note(self, key, change, result):
        """Notes the result of a request that replaces a value v by change(v)."""
        before = self.possible.get(key, [None])
        after = [change(value) for value in before]
        if result == DONE:
            self.possible[key] = distinct(after)
        elif result == UNKNOWN:
            self.possible[key] = distinct(before + after)

    def known(self, key):
        """The value of an object, or None if it does not exist or is not certain."""
        values = self.possible.get(key, [None])
        return values[0] if len(values) == 1 else None

    def names(self, kind):
        return [name for (of_kind, name) in self.possible if of_kind == kind and self.known((of_kind, name))]

    def lost(self, actual):
        """Complaints about values in @actual (key: value) that no answer allows."""
        complaints = []
        for key in sorted(set(self.possible) | set(actual)):
            values, value = self.possible.get(key, [None]), actual.get(key)
            if value not in values and key[0] not in self.forgiven:
                complaints.append(f"{key[0]} {key[1]}: is {value}, but the answers allow {values}")
        return complaints

    def forget(self, kind):
        self.possible = {key: values for key, values in self.possible.items() if key[0] != kind}

    def settle(self, actual):
        """The values in @actual are certain from now on."""
        self.possible = {key: [value] for key, value in actual.items()}
        self.forgiven = set()
