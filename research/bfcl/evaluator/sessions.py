"""Serves requests on standard input, one line of JSON each, by processes forked from this one: one for each session, one for each request without.

So no two sessions share an object, a call that never ends is killed alone, and all of them end with this process. A request is
{"id", "session"?, "op", ...}; its answer {"id", "result"} or {"id", "error"}.
"""

import json
import os
import resource
import selectors
import signal
import sys
import time

ANSWER_SECONDS = 10
MEMORY_BYTES = 2 * 2**30


class Child:
    def __init__(self, handle):
        (self.ours, theirs), (theirs_out, self.out) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            limit()
            sys.stdin = sys.stdout = open(os.devnull, "r+")
            run(handle, os.fdopen(theirs_out, encoding="utf8"), os.fdopen(theirs, "w", encoding="utf8"))
        os.close(theirs)
        os.close(theirs_out)
        self.buffer = b""
        self.waiting = None  # the id of the request that is being answered
        self.deadline = None

    def ask(self, request):
        self.waiting, self.deadline = request["id"], time.monotonic() + ANSWER_SECONDS
        view = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while view:
                view = view[os.write(self.out, view) :]
        except BrokenPipeError:
            pass  # its end is read as such

    def end(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.ours)
        os.close(self.out)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def run(handle, requests, answers):
    """The loop of a child. Never returns."""
    state = {}
    try:
        for line in requests:
            request = json.loads(line)
            try:
                answer = {"id": request["id"], "result": handle(request["op"], request, state)}
            except Exception as error:
                answer = {"id": request["id"], "error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    finally:
        os._exit(0)


def serve(handle):
    """@param handle (op, request, state of the session) -> what is answered"""
    out = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)
    selector, sessions, buffer, number = selectors.DefaultSelector(), {}, b"", 0
    selector.register(0, selectors.EVENT_READ, None)

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    def drop(name, why):
        child = sessions.pop(name)
        selector.unregister(child.ours)
        child.end()
        if child.waiting is not None:
            say({"id": child.waiting, "error": why})

    def take(request):
        nonlocal number
        name = request.get("session")
        if name is None:
            name, number = f"once {number}", number + 1
        if request["op"] == "close":
            if name in sessions:
                drop(name, "the session was closed")
            return say({"id": request["id"], "result": None})
        if name not in sessions:
            if request.get("session") is not None and request["op"] != "open":
                return say({"id": request["id"], "error": "its session is over"})
            sessions[name] = Child(handle)
            selector.register(sessions[name].ours, selectors.EVENT_READ, name)
        sessions[name].ask(request)

    try:
        while True:
            deadlines = [(child.deadline, name) for name, child in sessions.items() if child.waiting is not None]
            soonest = min(deadlines, default=None)
            for key, _ in selector.select(None if soonest is None else max(0, soonest[0] - time.monotonic())):
                if key.data is None:
                    chunk = os.read(0, 1 << 20)
                    if not chunk:
                        return
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in lines:
                        take(json.loads(line))
                elif key.data in sessions:
                    child = sessions[key.data]
                    chunk = os.read(child.ours, 1 << 20)
                    if not chunk:
                        drop(key.data, "its process ended")
                        continue
                    *lines, child.buffer = (child.buffer + chunk).split(b"\n")
                    for line in lines:
                        child.waiting = None
                        out.write(line.decode() + "\n")
                        out.flush()
                        if key.data.startswith("once "):
                            drop(key.data, "")
            for deadline, name in deadlines:
                if name in sessions and sessions[name].waiting is not None and sessions[name].deadline <= time.monotonic():
                    drop(name, f"no answer within {ANSWER_SECONDS} s")
    finally:
        for child in sessions.values():
            child.end()
