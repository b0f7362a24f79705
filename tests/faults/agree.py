# SPDX-License-Identifier: MIT
# Compares a Model (reference.py) with what clients read from gover-d. Pure. Each function yields sentences about what
# differs.
import reference


def state(model, read):
    """Contracts, GPUs, policy, tokens and silences."""
    for section, expected in model.state().items():
        actual = read["state"][section]
        for name in sorted(set(expected) | set(actual)):
            wanted, got = expected.get(name), actual.get(name)
            if wanted != got and not equal_but_any(wanted, got):
                yield f"{section} {name}: is {got}, the answers require {wanted}"


def equal_but_any(wanted, got):
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return False
    return all(wanted.get(name) in (got.get(name), reference.ANY) for name in set(wanted) | set(got))


def offers(model, read):
    """An offer is sold once, a withdrawn offer stays closed, and a hold stays until it ends."""
    for offer in read["offers"]:
        number, vgpu = offer["id"], offer["vgpu"]
        sold_to = model.sold.get(number)
        if vgpu != sold_to and (vgpu or sold_to in model.contracts):
            yield f"offer {number}: is sold to {vgpu}, the answers require {sold_to}"
        if number in model.withdrawn and offer["state"] != "closed":
            yield f"offer {number}: was withdrawn, and is {offer['state']}"
        by, until_s = model.holds.get(number, ("", 0))
        if offer["state"] == "open" and read["now_s"] < until_s - reference.MARGIN_S and offer["held_by"] != by:
            yield f"offer {number}: is held by {offer['held_by']}, the answers require {by}"


def acks(model, read):
    """Exactly the acknowledged alerts are acknowledged."""
    for alert in read["alerts"]:
        if bool(alert["acked_at"]) != (alert["id"] in model.acked):
            required = "an acknowledgement" if alert["id"] in model.acked else "none"
            yield f"alert {alert['id']} {alert['name']}: acked_at is {alert['acked_at']}, the answers require {required}"


def rows(model, read):
    """
    Each change has one audit row. After a crash, the row may have no status, and a change of tokens that was not answered
    may have a row although it was not made: its row is stored before tokens.json.
    """
    left = list(read["rows"])
    for row in sorted(model.rows, reverse=True):
        statuses = range(200, 300) if row.status == 0 else (row.status,)
        found = next((each for each in left if each[:3] == (row.who, row.method, row.path)
                      and (each[3] in statuses or read["crashed"] and each[3] == 0)), None)
        if found:
            left.remove(found)
        else:
            yield f"audit: no row for {row.who} {row.method} {row.path} {row.status}"
    for row in left:
        if read["crashed"] and row[2].startswith("/v1/tokens") and row[3] == 0:
            continue
        yield f"audit: a row too many: {' '.join(map(str, row))}"


CHECKS = {"state": state, "offers": offers, "acknowledgements": acks, "audit": rows}


def learned(model, read):
    """The Model with what only the daemon knows: the numbers of silences, and the caps in force that clients held."""
    model = model.copy()
    model.rows = ()
    for reason, number in read["silences"].items():
        if reason in model.silences:
            model.silences[reason] = number
    for name, contract in model.contracts.items():
        got = read["state"]["contracts"].get(name)
        if got and contract["held_cap_pct"] == reference.ANY:
            model.contracts[name] = {**contract, "held_cap_pct": got["held_cap_pct"]}
    return model


def adopted(model, read):
    """The Model after a disagreement: what was read holds from now on."""
    model = model.copy()
    model.rows = ()
    read_state = read["state"]
    for name in set(model.contracts) | set(read_state["contracts"]):
        known, got = model.contracts.get(name), read_state["contracts"].get(name)
        if got is None:
            model.contracts.pop(name)
        elif known is None or not equal_but_any({**known, "number": 0}, {**got, "number": 0}):
            model.contracts[name] = {**got, "number": known["number"] if known else 0}
    model.gpus, model.tokens = dict(read_state["gpus"]), dict(read_state["tokens"])
    model.live = {name: value for name, value in read_state["policy"].items() if value != model.file[name]}
    model.silences = dict(read["silences"])
    model.sold.update({offer["id"]: offer["vgpu"] for offer in read["offers"] if offer["vgpu"]})
    model.acked = {alert["id"]: True for alert in read["alerts"] if alert["acked_at"]}
    model.holds = {}
    return learned(model, read)
