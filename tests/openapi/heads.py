# SPDX-License-Identifier: MIT
# heads.py unix PATH | tcp PORT TOKEN | tls PORT TOKEN: sends each form of a request below on a connection of its own, with
# a second request behind it, and prints each form whose answer differs from the table. The last line contains the totals.
import re
import socket
import ssl
import sys

WAIT_S = 20  # the daemon closes a connection without a complete request after 10 s

kind, place = sys.argv[1], sys.argv[2]
# every form is sent by a caller with scope operate
token = f"Authorization: Bearer {sys.argv[3]}\r\n" if len(sys.argv) > 3 else ""
host = "Host: localhost\r\n" + token
second = f"GET /v1/second HTTP/1.1\r\n{host}Connection: close\r\n\r\n"
hidden = "GET /v1/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"


def get(fields, line="GET /healthz HTTP/1.1"):
    return f"{line}\r\n{fields}\r\n"


def post(fields, body="", version="1.1"):
    return f"POST /v1/vgpus HTTP/{version}\r\n{host}Content-Type: application/json\r\n{fields}\r\n{body}"


length = f"Content-Length: {len(hidden)}\r\n"
chunked = "Transfer-Encoding: chunked\r\n"
last = "0\r\n\r\n"
one = "2\r\n{}\r\n" + last

# The daemon refuses these: one problem document, then the end of the connection.
REFUSED = [
    ("two different lengths", 400, post("Content-Length: 0\r\n" + length, hidden)),
    ("two different lengths, the longer one first", 400, post(length + "Content-Length: 0\r\n", hidden)),
    ("two equal lengths", 400, post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}")),
    ("two lengths in other letters", 400, post("Content-Length: 2\r\ncontent-LENGTH: 2\r\n", "{}")),
    ("length and chunks", 400, post("Content-Length: 4\r\n" + chunked, last)),
    ("chunks and length", 400, post(chunked + length, last + hidden)),
    ("an unknown encoding", 400, post("Transfer-Encoding: gzip\r\n", hidden)),
    ("the encoding identity", 400, get(host + "Transfer-Encoding: identity\r\n")),
    ("an empty encoding", 400, get(host + "Transfer-Encoding:\r\n")),
    ("two encodings", 400, post("Transfer-Encoding: gzip, chunked\r\n", last)),
    ("an encoding after chunked", 400, post("Transfer-Encoding: chunked, identity\r\n", last)),
    ("an encoding that begins like chunked", 400, post("Transfer-Encoding: chunkedx\r\n", last)),
    ("whitespace after the encoding", 400, post("Transfer-Encoding: chunked \r\n", last)),
    ("the encoding twice", 400, post(chunked + chunked, last)),
    ("chunks in HTTP/1.0", 411, post(chunked, last, version="1.0")),
    ("no host", 400, get(token)),
    ("two hosts", 400, get(host + "Host: localhost\r\n")),
    ("two hosts in other letters", 400, get(host + "hOST: y\r\n")),
    ("two hosts in HTTP/1.0", 400, get(host + "Host: y\r\n", "GET /healthz HTTP/1.0")),
    ("two tokens", 400, get("Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n")),
    ("two content types", 400, post("Content-Type: text/plain\r\nContent-Length: 2\r\n", "{}")),
    ("a space before the colon of Host", 400, get("Host : localhost\r\n")),
    ("a space before a colon", 400, get(host + "Accept : x\r\n")),
    ("a tab before a colon", 400, get(host + "Accept\t: x\r\n")),
    ("a space before the colon of a length", 400, post(f"Content-Length : {len(hidden)}\r\n", hidden)),
    ("a space before the colon of the encoding", 400, post("Transfer-Encoding : chunked\r\n", last)),
    ("a slash in a name", 400, get(host + "a/b: x\r\n")),
    ("a letter outside ASCII in a name", 400, get(host + "\xe4: x\r\n")),
    ("a control character in a name", 400, get(host + "A\x01: x\r\n")),
    ("a control character in a value", 400, get(host + "A: b\x1bc\r\n")),
    ("DEL in a value", 400, get(host + "A: b\x7fc\r\n")),
    ("CR in a value", 400, get(host + "A: b\rc\r\n")),
    ("CR before CR LF", 400, get("Host: localhost\r\r\n" + token)),
    ("CR in the length", 400, post(chunked + "A: b\rContent-Length: 3\r\n", last)),
    ("a folded first line", 400, get(" " + host)),
    ("a folded host", 400, get("Host:\r\n localhost\r\n" + token)),
    ("a folded length", 400, post(f"Content-Length:\r\n {len(hidden)}\r\n", hidden)),
    ("a length folded with a tab", 400, post("Content-Length: 0\r\n\t7\r\n", hidden)),
    ("a folded encoding", 400, post("Transfer-Encoding:\r\n chunked\r\n", last)),
    ("a field that begins like a length", 400, get(host + "Content-Lengths: 3\r\n")),
    ("a field that begins like the encoding", 400, get(host + "transfer-encoding-x: chunked\r\n")),
    ("a folded value of two words", 400, get(host + "A: b\r\n c d\r\n")),
    ("a space in the target", 400, get(host, "GET /a b HTTP/1.1")),
    ("a space in the query", 400, get(host, "GET /v1/vgpus?gpu=a b HTTP/1.1")),
    ("a tab in the target", 400, get(host, "GET /a\tb HTTP/1.1")),
    ("CR in the target", 400, get(host, "GET /healthz\rx HTTP/1.1")),
    ("DEL in the target", 400, get(host, "GET /a\x7f HTTP/1.1")),
    ("a version in the target", 400, get(host, "GET /healthz HTTP/1.1 HTTP/1.1")),
    ("an absolute target of another host", 400, get(host, "GET http://elsewhere/healthz HTTP/1.1")),
    ("an absolute target with a port", 400, get(host, "GET http://localhost:1/healthz HTTP/1.1")),
    ("an absolute target without a host", 400, get(host, "GET http:///healthz HTTP/1.1")),
    ("an absolute target with a user", 400, get(host, "GET http://localhost@x/healthz HTTP/1.1")),
    ("CR before the method", 400, get(host, "\rGET /healthz HTTP/1.1")),
    ("a control character in the method", 400, get(host, "G\x01T /healthz HTTP/1.1")),
    ("a later version", 505, get(host, "GET /healthz HTTP/1.2")),
    ("the last version", 505, get(host, "GET /healthz HTTP/1.9")),
    ("65 parameters", 414, get(host, "GET /v1/host?" + "a&" * 64 + "a HTTP/1.1")),
    ("300 parameters", 414, get(host, "GET /v1/host?" + "a&" * 299 + "a HTTP/1.1")),
    ("101 fields", 431, get(host + "A: b\r\n" * (101 - host.count("\r\n")))),
]

# libmicrohttpd refuses these itself: a text, or no answer (0), then the end of the connection.
LIBRARY = [
    ("a list of lengths", 400, post("Content-Length: 2, 2\r\n", "{}")),
    ("a length with a sign", 400, post("Content-Length: +2\r\n", "{}")),
    ("a negative length", 400, post("Content-Length: -1\r\n", hidden)),
    ("a length in hexadecimal", 400, post("Content-Length: 0x2\r\n", "{}")),
    ("a length with an exponent", 400, post("Content-Length: 1e1\r\n", hidden)),
    ("an empty length", 400, post("Content-Length:\r\n", hidden)),
    ("two numbers in a length", 400, post("Content-Length: 2 3\r\n", "{}")),
    ("whitespace after a length", 400, post("Content-Length: 2 \r\n", "{}")),
    ("a length of more than 64 bits", 413, post("Content-Length: 99999999999999999999\r\n", hidden)),
    ("a line without a colon", 400, get(host + "abc\r\n")),
    ("NUL in a name", 400, get(host + "A\0B: x\r\n")),
    ("CR ends the request line", 400, get(host, "GET /healthz HTTP/1.1\rA: b")),
    ("CR ends the head", 400, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r"),
    ("a space after the version", 400, get(host, "GET /healthz HTTP/1.1 ")),
    ("no version", 400, get(host, "GET /healthz")),
    ("no target", 400, get(host, "GET HTTP/1.1")),
    ("another protocol", 400, get(host, "GET /healthz RTSP/1.0")),
    ("a version in lower case", 400, get(host, "GET /healthz http/1.1")),
    ("a version of three digits", 400, get(host, "GET /healthz HTTP/1.10")),
    ("tabs in the request line", 0, get(host, "GET\t/healthz\tHTTP/1.1")),
    ("a space before the method", 0, get(host, " GET /healthz HTTP/1.1")),
    ("only a method", 0, get(host, "GET")),
    ("the preface of HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("an older version", 505, get(host, "GET /healthz HTTP/0.9")),
    ("a long target", 414, get(host, "GET /" + "0123456789" * 4000 + " HTTP/1.1")),
    ("a long value", 431, get(host + "A: " + "0123456789" * 4000 + "\r\n")),
    ("a name without an end", 431, get(host + "abcdefghij" * 4000)),
    ("CR ends the size of a chunk", 400, post(chunked, "2\r{}\r\n" + last)),
    ("CR ends a chunk", 400, post(chunked, "2\r\n{}\r" + last)),
    ("a chunk longer than its size", 400, post(chunked, "2\r\n{}xx\r\n" + last)),
    ("no size of a chunk", 400, post(chunked, "\r\n{}\r\n" + last)),
    ("a size with 0x", 400, post(chunked, "0x" + one)),
    ("a space after a size", 400, post(chunked, "2 \r\n{}\r\n" + last)),
    ("a size of 65 bits", 413, post(chunked, "10000000000000000" + one)),
]

# These are accepted: the request and the second one are answered.
ACCEPTED = [
    ("a normal request", 200, get(host)),
    ("an empty line before the request", 200, "\r\n" + get(host)),
    ("no whitespace before a value", 200, get("Host:localhost\r\n" + token)),
    ("whitespace before a value", 200, get("Host: \t localhost\r\n" + token)),
    ("an empty value", 200, get(host + "A:\r\n")),
    ("bytes above 0x7f in a value", 200, get(host + "A: \xe4\r\n")),
    ("every character of a name", 200, get(host + "!#$%&'*+-.^_`|~09azAZ: x\r\n")),
    ("names in other letters", 422, "POST /v1/vgpus HTTP/1.1\r\n" + host.replace("Host", "hOST") +
     "content-TYPE: application/json\r\ncONTENT-lENGTH: 2\r\n\r\n{}"),
    ("a name that begins like Host", 200, get(host + "Host-X: y\r\nHos: y\r\n")),
    ("a request in the body of a GET", 200, get(host + length) + hidden),
    ("a length of zero", 415, f"POST /v1/vgpus HTTP/1.1\r\n{host}Content-Length: 00\r\n\r\n"),
    ("a change without a length", 415, f"POST /v1/vgpus HTTP/1.1\r\n{host}\r\n"),
    ("a body", 422, post("Content-Length: 2\r\n", "{}")),
    ("chunks", 422, post(chunked, "1\r\n{\r\n00000001\r\n}\r\n" + last)),
    ("a size in hexadecimal", 422, post(chunked, "aB\r\n{" + " " * 169 + "}\r\n00" + last)),
    ("an encoding in other letters", 422, post("Transfer-Encoding: CHUNKED\r\n", one)),
    ("an unknown method", 405, get(host, "get /healthz HTTP/1.1")),
    ("an absolute target", 200, get(host, "GET HTTP://LOCALHOST/healthz HTTP/1.1")),
    ("64 parameters", 400, get(host, "GET /v1/host?" + "a&" * 63 + "a HTTP/1.1")),
    ("100 fields", 200, get(host + "A: b\r\n" * (100 - host.count("\r\n")))),
    ("a large head", 200, get(host + "A: " + "0123456789" * 1000 + "\r\n")),
]

# libmicrohttpd 0.9.75 does not show these forms: they are accepted. docs/threats.md lists them.
NOT_SHOWN = [
    ("LF ends every line", 200, get(host).replace("\r\n", "\n")),
    ("LF ends the request line", 200, get(host).replace("\r\n", "\n", 1)),
    ("LF ends a field", 200, get("A: b\n" + host)),
    ("LF ends the head", 200, "GET /healthz HTTP/1.1\r\n" + host + "\n"),
    ("LF before the request", 200, "\n" + get(host)),
    ("NUL in a value", 200, get(host + "A: b\0c\r\n")),
    ("NUL in the target", 404, get(host, "GET /health\0z HTTP/1.1")),
    ("two spaces before the target", 200, get(host, "GET  /healthz HTTP/1.1")),
    ("an empty name", 200, get(host + ": x\r\n")),
    ("a folded value of one word", 200, get(host + "A: b\r\n c\r\n")),
    ("a chunk extension", 422, post(chunked, "2;a=b\r\n{}\r\n" + last)),
    ("an extension of the last chunk", 422, post(chunked, "2\r\n{}\r\n0;a\r\n\r\n")),
    ("LF ends the size of a chunk", 422, post(chunked, "2\n{}\r\n" + last)),
    ("LF ends a chunk", 422, post(chunked, "2\r\n{}\n" + last)),
    ("LF ends the body", 422, post(chunked, "2\r\n{}\r\n0\r\n\n")),
    ("a size of nine digits", 422, post(chunked, "00000000" + one)),
    ("a trailer field", 422, post(chunked, "2\r\n{}\r\n0\r\nA: b\r\n\r\n")),
]


def connect():
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(WAIT_S)
        connection.connect(place)
        return connection
    connection = socket.create_connection(("127.0.0.1", int(place)), WAIT_S)
    if kind == "tls":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = context.wrap_socket(connection)
    return connection


def exchange(text):
    """Returns the bytes of the answer until the daemon closes the connection."""
    answer = b""
    with connect() as connection:
        try:
            connection.sendall((text + second).encode("latin-1"))
            while data := connection.recv(65536):
                answer += data
        except (ConnectionError, ssl.SSLError):
            pass  # closed before the daemon had read all bytes
    return answer


def judge(table, status, answer):
    """Returns what is wrong with the answer; an empty text if nothing is."""
    statuses = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d+) ", answer)]
    if b"/v1/hidden" in answer:
        return "the hidden request was answered"
    if table in (ACCEPTED, NOT_SHOWN):
        right = statuses == [status, 404] and b'"/v1/second"' in answer
    else:
        right = b"/v1/second" not in answer and (statuses or [0])[0] == status
    if table is REFUSED:
        right = right and len(statuses) == 1 and b"\r\nContent-Type: application/problem+json\r\n" in answer
    if table is LIBRARY:
        right = right and set(statuses) <= {status}
    return "" if right else f"expected {status}, got {statuses}"


n = failed = 0
for table in (REFUSED, LIBRARY, ACCEPTED, NOT_SHOWN):
    for name, status, text in table:
        n += 1
        try:
            wrong = judge(table, status, exchange(text))
        except TimeoutError:
            wrong = "not closed"
        if wrong:
            failed += 1
            print(f"{name}: {wrong}")
print(f"{n} requests, {failed} failed")
sys.exit(failed > 0)
